/** All methods that the user can see, searched and filtered by the server, page by page. */
import { useActivity } from '../lib/activity.js';
import { withQuery } from '../lib/api.js';
import { useCursorPages } from '../lib/cursor-pages.js';
import { plural } from '../lib/format.js';
import { can, me } from '../lib/me.js';
import { Fragment, html, useRef } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery, useSorting } from '../router.js';
import { Badge, Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { QuerySearch, QuerySelect } from '../ui/filters.js';
import { PageButtons } from '../ui/page-buttons.js';
import { Table } from '../ui/table.js';
import { activityColumn } from './charts/activity-column.js';
import { inFlight } from './method/types.js';

/** @import { Method } from 'api' */

await loadStyles('methods.css');

/** Methods of one page. */
const PAGE = 100;

export default function MethodsPage() {
  const query = useQuery();
  const filters = { q: query.get('q'), owner: query.get('owner'), scope: query.get('scope') };
  const pages = useCursorPages(withQuery('/api/methods', { ...filters, limit: PAGE }), { every: 4_000 });
  const { resource } = pages;
  const rows = /** @type {Method[]} */ (resource.data?.methods ?? []);
  /** @type {number | null} */
  const count = resource.data?.count ?? null;
  const owners = useOwners(rows, filters.owner);
  const searching = Boolean(filters.q || filters.owner || filters.scope);
  const clear = () => query.set({ q: null, owner: null, scope: null });
  return html`
    <${PageHeader} title="Methods"
      description="The methods you can call: your own, and those that others share with you." />
    ${(searching || Boolean(count)) && html`<${Filters} owners=${owners} shown=${count} />`}
    ${resource.data && html`<${ErrorNotice} error=${resource.error} title="Not up to date" />`}
    ${
      pendingOf(resource) ??
      html`
        <${Card} flush>
          ${
            rows.length === 0 && pages.complete
              ? html`<${NoMethods} searching=${searching} onClear=${clear} />`
              : html`<${Rows} rows=${rows} complete=${pages.complete} />`
          }
          <${PageButtons} pages=${pages} size=${PAGE} count=${count ?? 0} />
        </${Card}>
      `
    }
  `;
}

/** The owners of all methods that were shown so far. @param {Method[]} methods @param {string} chosen */
function useOwners(methods, chosen) {
  const known = useRef(/** @type {Set<string>} */ (new Set()));
  for (const { owner } of methods) known.current.add(owner);
  return [...new Set(known.current).add(chosen)].filter(Boolean).sort();
}

/** @param {{owners: string[], shown: number | null}} props */
function Filters({ owners, shown }) {
  const mine = me.value?.username;
  const options = [
    { value: '', label: 'Every owner' },
    ...owners.map((name) => ({ value: name, label: name === mine ? `${name} (you)` : name })),
  ];
  const scopes = [{ value: '', label: 'Every scope' }, 'private', 'shared'];
  return html`
    <div class="toolbar">
      <${QuerySearch} label="Search methods" placeholder="Name, description or keyword" />
      <${QuerySelect} label="Owner" name="owner" options=${options} />
      <${QuerySelect} label="Scope" name="scope" options=${scopes} />
      <span class="muted small" role="status">${shown === null ? '' : plural(shown, 'method')}</span>
    </div>
  `;
}

/** @param {{rows: Method[], complete: boolean}} props `complete`: there is no other page, so the rows can be sorted */
function Rows({ rows, complete }) {
  const sorting = useSorting();
  const activity = useActivity();
  const mine = me.value?.username;
  /** @type {import('../ui/table.js').Column<Method>[]} */
  const columns = [
    {
      key: 'name',
      label: 'Method',
      mono: true,
      sort: true,
      cell: (method) => html`<span class="method-name">${breakAtDots(method.name)}</span>`,
    },
    {
      key: 'description',
      label: 'Description',
      phone: 'line',
      cell: (method) => html`<span class="method-summary" title=${method.description}>${method.description}</span>`,
    },
    { key: 'owner', label: 'Owner', mono: true, shrink: true, phone: 'hidden', sort: true },
    { key: 'scope', label: 'Scope', shrink: true, phone: 'line-aside', sort: true, cell: scopeOf },
    {
      key: 'provider_count',
      label: 'Providers',
      shrink: true,
      phone: 'aside',
      sort: (method) => method.provider_count,
      cell: (method) =>
        html`
          <${Status} tone=${method.provider_count > 0 ? 'good' : 'bad'}>
            ${method.provider_count > 0 ? `${method.provider_count} ready` : 'none'}
          </${Status}>
        `,
    },
    {
      key: 'in_flight',
      label: 'In flight',
      align: 'right',
      shrink: true,
      phone: 'hidden',
      sort: inFlight,
      cell: (method) => inFlight(method) ?? html`<span class="muted" title="Known to the owner only">–</span>`,
    },
    activityColumn((/** @type {Method} */ method) =>
      method.owner === mine ? activity?.methods.get(method.name) : null,
    ),
  ];
  return html`
    <${Table} label="Methods" choosable="methods" columns=${columns} sorting=${complete ? sorting : null} rows=${rows}
      rowKey=${(/** @type {Method} */ method) => method.name}
      rowHref=${(/** @type {Method} */ method) => `/methods/${encodeURIComponent(method.name)}`} />
  `;
}

/** Allows line breaks after the dots of a long name. @param {string} name */
function breakAtDots(name) {
  return name.split(/(?<=\.)/).map((part, index) => html`<${Fragment} key=${index}>${part}<wbr /></${Fragment}>`);
}

/** @param {Method} method */
function scopeOf(method) {
  return html`
    <span class="method-badges">
      <${Badge} tone=${method.scope === 'shared' ? 'accent' : 'neutral'}>${method.scope}</${Badge}>
      ${method.mcp_tool && html`<${Badge} title="Also an MCP tool">MCP</${Badge}>`}
    </span>
  `;
}

/** @param {{searching: boolean, onClear: () => void}} props */
function NoMethods({ searching, onClear }) {
  if (searching)
    return html`
      <${EmptyState} icon="search" title="No method matches"
        action=${html`<${Button} onClick=${onClear}>Clear the search</${Button}>`}>
        All words must occur in the name, description or keywords of a method.
      </${EmptyState}>
    `;
  if (!can('use_spaces', 'manage_spaces'))
    return html`
      <${EmptyState} icon="function" title="No methods yet">No user shares a method with you yet.</${EmptyState}>
    `;
  return html`
    <${EmptyState} icon="function" title="No methods yet" command="svc methods register methods.toml"
      action=${html`<${Button} href="/spaces" icon="box">Go to spaces</${Button}>`}>
      A space publishes methods. Run this where its agent runs, with a file that names the program that serves them.
    </${EmptyState}>
  `;
}
