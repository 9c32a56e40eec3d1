/** The API tokens of another user. */
import { html, useState } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { Card } from '../../ui/card.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Pagination, Table } from '../../ui/table.js';
import { RevokeDialog, tokenColumns } from '../tokens/columns.js';

/** @import { Token } from 'api' */

/** @param {{user: {id: string, username: string}}} props */
export function TokensCard({ user }) {
  const list = useList('/api/tokens', 'tokens', { query: { user: user.id }, every: 15_000 });
  // Not in the address, because the page of a user has several tables.
  const [order, onOrder] = useState('');
  const [revoking, setRevoking] = useState(/** @type {Token | null} */ (null));
  return html`
    <${Card} title="Tokens" flush description=${`Keys of programs that act as ${user.username}.`}>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Tokens" choosable="tokens" columns=${tokenColumns(setRevoking)} rows=${list.items}
            sorting=${list.hasMore ? null : { order, onOrder }}
            empty=${html`<p class="card-note muted">${user.username} has no tokens.</p>`} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${revoking && html`<${RevokeDialog} token=${revoking} list=${list} onClose=${() => setRevoking(null)} />`}
  `;
}
