/** API tokens of the user: create, list with last use, revoke. */
import { api } from '../lib/api.js';
import { now } from '../lib/format.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { useQuery, useSorting } from '../router.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Select } from '../ui/field.js';
import { SearchInput } from '../ui/search-input.js';
import { Pagination, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toasts.js';
import { CreatedDialog } from './tokens/created.js';
import { NewTokenDialog } from './tokens/new-token.js';

/**
 * @typedef {{id: string, name: string, scopes: string[], created_at: string, expires_at: string | null, last_used_at:
 *   string | null, token?: string}} Token
 */

const SOON_MS = 7 * 24 * 3_600_000;
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
              <${SearchInput} label="Search tokens" value=${q}
                onSearch=${(/** @type {string} */ text) => query.set({ q: text })} />
              <${Select} label="Scope" hideLabel value=${scope}
                onInput=${(/** @type {string} */ value) => query.set({ scope: value })} options=${FILTERS} />
            </div>
          `
        }
        <${ErrorNotice} error=${list.error} />
        <${Card} flush>
          <${Table} label="Tokens" choosable="tokens" columns=${columns(setRevoking)} rows=${rows}
            sorting=${list.hasMore ? null : sorting}
            empty=${html`<${Empty} filtered=${Boolean(q || scope)} onNew=${open} />`} />
          <${Pagination} list=${list} />
        </${Card}>
      `
    }
    ${query.get('new') && html`<${NewTokenDialog} onClose=${() => query.set({ new: null })} onCreated=${onCreated} />`}
    ${created && html`<${CreatedDialog} token=${created} onClose=${() => setCreated(null)} />`}
    ${
      revoking &&
      html`
        <${ConfirmDialog} title="Revoke this token?" action="Revoke token" onClose=${() => setRevoking(null)}
          onConfirm=${() => revoke(revoking, list)}>
          <p>
            Any program that uses <strong class="mono anywhere">${revoking.name}</strong> is rejected from its next
            request on, and so are tokens that were created with it. This cannot be undone.
          </p>
        </${ConfirmDialog}>
      `
    }
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

/**
 * @param {(token: Token) => void} onRevoke
 * @returns {import('../ui/table.js').Column<Token>[]}
 */
function columns(onRevoke) {
  return [
    {
      key: 'name',
      label: 'Name',
      sort: (token) => token.name,
      cell: (token) => html`<span class="strong">${token.name}</span>`,
    },
    { key: 'scopes', label: 'Reaches', cell: (token) => html`<${Scopes} scopes=${token.scopes} />` },
    {
      key: 'last_used_at',
      label: 'Last used',
      sort: (token) => token.last_used_at,
      cell: (token) => html`<${Time} value=${token.last_used_at} none="never" />`,
    },
    {
      key: 'created_at',
      label: 'Created',
      sort: (token) => token.created_at,
      cell: (token) => html`<${Time} value=${token.created_at} />`,
    },
    {
      key: 'expires_at',
      label: 'Expires',
      sort: (token) => token.expires_at,
      cell: (token) => html`<${Expiry} at=${token.expires_at} />`,
    },
    {
      key: 'actions',
      label: 'Actions',
      hideLabel: true,
      shrink: true,
      cell: (token) =>
        html`
          <${Button} size="small" aria-label=${`Revoke ${token.name}`} onClick=${() => onRevoke(token)}>
            Revoke
          </${Button}>
        `,
    },
  ];
}

/** @param {{scopes: string[]}} props */
function Scopes({ scopes }) {
  if (scopes.length === 0) return html`<span>all you may do</span>`;
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

/** @param {Token} token @param {string} q @param {string} scope */
function matches(token, q, scope) {
  const named = token.name.toLowerCase().includes(q.trim().toLowerCase());
  if (scope === 'all') return named && token.scopes.length === 0;
  return named && (!scope || token.scopes.includes(scope));
}

/** @param {Token} token @param {{reload: () => Promise<void>}} list */
async function revoke(token, list) {
  await api.del(`/api/tokens/${token.id}`);
  await list.reload();
  toast(`Token ${token.name} revoked`);
}
