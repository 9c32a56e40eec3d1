/** One app, for administrators. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { formatNumber } from '../../lib/format.js';
import { displayName } from '../../lib/oauth.js';
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Button, CopyButton } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { Origin, QuotedName } from './identity.js';

/** @import { App } from 'api' */

/** @param {import('../../ui/record-page.js').About<App>} props */
export function AppDrawer({ record: app, onClose, onChanged, onAsk }) {
  const unblock = useAction(async () => {
    await api.patch(at('/api/oauth/clients/{id}', { id: app.id }), { blocked: false });
    await onChanged();
    toast(`${displayName(app.name)} is allowed again`);
  });
  // No button for an app that is part of svc: the server would add it again at its next use.
  const footer = html`
    ${app.kind !== 'builtin' && html`<${Button} icon="trash" onClick=${() => onAsk('delete')}>Delete</${Button}>`}
    ${
      app.blocked
        ? html`<${Button} kind="primary" busy=${unblock.busy} onClick=${unblock.run}>Unblock</${Button}>`
        : html`<${Button} kind="danger" onClick=${() => onAsk('block')}>Block</${Button}>`
    }
  `;
  return html`
    <${Drawer} title=${html`<${QuotedName} app=${app} />`} onClose=${onClose} footer=${footer}>
      <div class="stack">
        <${ErrorNotice} error=${unblock.error} />
        <${KeyValue}
          items=${[
            [
              'Status',
              html`<${Status} tone=${app.blocked ? 'bad' : 'good'}>${app.blocked ? 'blocked' : 'allowed'}</${Status}>`,
            ],
            ['Origin', html`<${Origin} app=${app} />`],
            [
              'Client id',
              html`
                <span class="mono small">${app.client_id}</span>
                <${CopyButton} text=${app.client_id} label="Copy client id" />
              `,
            ],
            ['Secret', app.confidential ? 'required' : 'none'],
            ['Returns to', html`<${Addresses} addresses=${app.redirect_uris} />`],
            ['Connected users', formatNumber(app.grants)],
            ['Last used', html`<${Time} value=${app.last_used_at} none="never" exact />`],
            ['Known since', html`<${Time} value=${app.created_at} exact />`],
          ]} />
      </div>
    </${Drawer}>
  `;
}

/** @param {{addresses: string[]}} props */
function Addresses({ addresses }) {
  if (addresses.length === 0) return html`<span class="muted">none</span>`;
  return html`
    <ul class="app-addresses">
      ${addresses.map((address) => html`<li key=${address} class="mono small anywhere">${address}</li>`)}
    </ul>
  `;
}
