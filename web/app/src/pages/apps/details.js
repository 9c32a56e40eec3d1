/** One app, for administrators. */
import { useAction } from '../../lib/action.js';
import { formatNumber } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Button, CopyButton } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Time } from '../../ui/time.js';
import { Origin, QuotedName } from './identity.js';

/** @import { App } from 'api' */

/**
 * @param {{app: App, onClose: () => void, onBlock: () => void, onUnblock: () =>
 *   Promise<void>, onDelete: () => void}} props
 */
export function AppDrawer({ app, onClose, onBlock, onUnblock, onDelete }) {
  const unblock = useAction(onUnblock);
  // No button for an app that is part of svc: the server would add it again at its next use.
  const footer = html`
    ${app.kind !== 'builtin' && html`<${Button} icon="trash" onClick=${onDelete}>Delete</${Button}>`}
    ${
      app.blocked
        ? html`<${Button} kind="primary" busy=${unblock.busy} onClick=${unblock.run}>Unblock</${Button}>`
        : html`<${Button} kind="danger" onClick=${onBlock}>Block</${Button}>`
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
