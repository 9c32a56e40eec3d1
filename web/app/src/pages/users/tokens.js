/** The API tokens of another user. */
import { html, useState } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { RecordList } from '../../ui/record-page.js';
import { RevokeDialog, tokenColumns } from '../tokens/columns.js';

/** @import { Token } from 'api' */

/** @param {{user: {id: string, username: string}}} props */
export function TokensCard({ user }) {
  const list = useList('/api/tokens', 'tokens', { query: { user: user.id }, every: 15_000 });
  // Not in the address, because the page of a user has several tables.
  const [order, onOrder] = useState('');
  const [revoking, setRevoking] = useState(/** @type {Token | null} */ (null));
  return html`
    <${RecordList} list=${list} title="Tokens" description=${`Keys of programs that act as ${user.username}.`}
      label="Tokens" choosable="tokens" columns=${tokenColumns(setRevoking)}
      sorting=${list.hasMore ? null : { order, onOrder }}
      empty=${html`<p class="card-note muted">${user.username} has no tokens.</p>`} />
    ${revoking && html`<${RevokeDialog} token=${revoking} list=${list} onClose=${() => setRevoking(null)} />`}
  `;
}
