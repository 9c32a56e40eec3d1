/** API tokens of the user: create, list with last use, revoke. */
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { useQuery, useSorting } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { QuerySearch, QuerySelect } from '../ui/filters.js';
import { Pagination, Table } from '../ui/table.js';
import { RevokeDialog, tokenColumns } from './tokens/columns.js';
import { CreatedDialog } from './tokens/created.js';
import { NewTokenDialog } from './tokens/new-token.js';

/** @import { Token } from 'api' */

const FILTERS = [
  { value: '', label: 'Every scope' },
  { value: 'all', label: 'Everything' },
  { value: 'methods', label: 'methods' },
  { value: 'mcp', label: 'mcp' },
];

export default function TokensPage() {
  const query = useQuery();
  const list = useList('/api/tokens', 'tokens', { query: { limit: 1000 }, every: 10_000 });
  const sorting = useSorting();
  const [created, setCreated] = useState(/** @type {Token | null} */ (null));
  const [revoking, setRevoking] = useState(/** @type {Token | null} */ (null));
  const [q, scope] = [query.get('q'), query.get('scope')];
  const rows = (list.items ?? []).filter((token) => matches(token, q, scope));
  const open = () => query.set({ new: 1 });
  const onCreated = (/** @type {Token} */ token) => {
    query.set({ new: null });
    setCreated(token);
    void list.reload();
  };
  return html`
    <${PageHeader} title="Tokens"
      description="Keys for programs that act as you: command line, scripts, MCP clients. Revocation is immediate."
      actions=${html`<${Button} kind="primary" icon="plus" onClick=${open}>New token</${Button}>`} />
    ${
      pendingOf(list) ??
      html`
        ${
          (list.items?.length ?? 0) > 0 &&
          html`
            <div class="toolbar">
              <${QuerySearch} label="Search tokens" />
              <${QuerySelect} label="Scope" name="scope" options=${FILTERS} />
            </div>
          `
        }
        <${ErrorNotice} error=${list.error} />
        <${Card} flush>
          <${Table} label="Tokens" choosable="tokens" columns=${tokenColumns(setRevoking)} rows=${rows}
            sorting=${list.hasMore ? null : sorting}
            empty=${html`<${Empty} filtered=${Boolean(q || scope)} onNew=${open} />`} />
          <${Pagination} list=${list} />
        </${Card}>
      `
    }
    ${query.get('new') && html`<${NewTokenDialog} onClose=${() => query.set({ new: null })} onCreated=${onCreated} />`}
    ${created && html`<${CreatedDialog} token=${created} onClose=${() => setCreated(null)} />`}
    ${revoking && html`<${RevokeDialog} token=${revoking} list=${list} onClose=${() => setRevoking(null)} />`}
  `;
}

/** @param {{filtered: boolean, onNew: () => void}} props */
function Empty({ filtered, onNew }) {
  if (filtered)
    return html`
      <${EmptyState} icon="search" title="No token matches"
        action=${html`<${Button} href="/tokens">Show all tokens</${Button}>`} />
    `;
  return html`
    <${EmptyState} icon="key" title="No tokens yet" command="svc token create ci --scope methods --expires-in-days 90"
      action=${html`<${Button} kind="primary" icon="plus" onClick=${onNew}>New token</${Button}>`}>
      A token lets a program call methods or use tools as you. Create one here, or with the command line:
    </${EmptyState}>
  `;
}

/** @param {Token} token @param {string} q @param {string} scope */
function matches(token, q, scope) {
  const named = token.name.toLowerCase().includes(q.trim().toLowerCase());
  if (scope === 'all') return named && token.scopes.length === 0;
  return named && (!scope || token.scopes.some((name) => name === scope));
}
