/** Tests a provider, and shows the result and the advice of each step. */
import { at } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { pendingOf } from '../../ui/error-notice.js';
import { Table } from '../../ui/table.js';

/** @import { OidcCheckStep, OidcProvider } from 'api' */

/** @param {{record: OidcProvider, onClose: () => void}} props */
export function CheckDialog({ record: provider, onClose }) {
  const check = useResource(at('/api/oidc/providers/{id}/check', { id: provider.id }));
  return html`
    <${Dialog} title=${`Test of ${provider.label}`} onClose=${onClose} wide
      footer=${html`<${Button} kind="primary" onClick=${onClose}>Done</${Button}>`}>
      ${
        pendingOf(check) ??
        html`
          <p>${check.data?.ok ? 'Users can sign in with this provider.' : 'Users cannot sign in yet.'}</p>
          <${Table} label="Steps" columns=${COLUMNS} rows=${check.data?.steps} />
        `
      }
    </${Dialog}>
  `;
}

/** @type {import('../../ui/table.js').Column<OidcCheckStep>[]} */
const COLUMNS = [
  { key: 'step', label: 'Step', shrink: true },
  {
    key: 'ok',
    label: 'Result',
    shrink: true,
    cell: (one) => html`<${Status} tone=${one.ok ? 'good' : 'bad'}>${one.ok ? 'ok' : 'failed'}</${Status}>`,
  },
  {
    key: 'detail',
    label: 'What was found',
    cell: (one) => html`
      <div class="anywhere">${one.detail}</div>
      ${one.advice && html`<div class="muted small anywhere">${one.advice}</div>`}
    `,
  },
];
