/** API tokens in a table, and their revocation. */
import { at } from '../../lib/api.js';
import { now } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { DeleteDialog } from '../../ui/record-page.js';
import { buttonColumn, timeColumn } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

/** @import { Token } from 'api' */

const SOON_MS = 7 * 24 * 3_600_000;

/**
 * @param {(token: Token) => void} onRevoke
 * @returns {import('../../ui/table.js').Column<Token>[]}
 */
export function tokenColumns(onRevoke) {
  return [
    { key: 'name', label: 'Name', sort: true, cell: (token) => html`<span class="strong">${token.name}</span>` },
    {
      key: 'scopes',
      label: 'Reaches',
      phone: 'line',
      sort: (token) => token.scopes.join(' ') || 'all',
      cell: (token) => html`<${Scopes} scopes=${token.scopes} />`,
    },
    timeColumn('last_used_at', 'Last used', { phone: 'more', phoneLabel: true, none: 'never' }),
    timeColumn('created_at', 'Created', { phone: 'hidden' }),
    {
      key: 'expires_at',
      label: 'Expires',
      phone: 'aside',
      phoneLabel: true,
      sort: true,
      cell: (token) => html`<${Expiry} at=${token.expires_at} />`,
    },
    buttonColumn('Revoke', (token) => token.name, onRevoke, { phone: 'line-aside' }),
  ];
}

/** @param {{scopes: string[]}} props */
function Scopes({ scopes }) {
  if (scopes.length === 0) return html`<span>all that the user may do</span>`;
  return html`<span class="row">${scopes.map((scope) => html`<${Badge} key=${scope} mono>${scope}</${Badge}>`)}</span>`;
}

/** @param {{at: string | null}} props */
function Expiry({ at }) {
  if (!at) return html`<span class="muted">never</span>`;
  const left = new Date(at).getTime() - now.value;
  const remark =
    left <= 0
      ? html`<${Badge} tone="bad">expired</${Badge}>`
      : left < SOON_MS && html`<${Badge} tone="warn">soon</${Badge}>`;
  return html`<span class="row"><${Time} value=${at} />${remark}</span>`;
}

/** @param {{token: Token, list: {reload: () => Promise<void>}, onClose: () => void}} props */
export function RevokeDialog({ token, list, onClose }) {
  return html`
    <${DeleteDialog} title="Revoke this token?" action="Revoke token" said=${`Token ${token.name} revoked`}
      path=${at('/api/tokens/{id}', { id: token.id })} about=${{ onClose, onChanged: list.reload }}>
      <p>
        Any program that uses <strong class="mono anywhere">${token.name}</strong> is rejected from its next
        request on, and so are tokens that were created with it. This cannot be undone.
      </p>
    </${DeleteDialog}>
  `;
}
