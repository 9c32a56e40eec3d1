/** Stored scripts: the user's own and the global ones. */

import { html } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { hasWords } from '../lib/search.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { QuerySearch, QuerySelect } from '../ui/filters.js';
import { RecordList } from '../ui/record-page.js';
import { timeColumn } from '../ui/table.js';
import { KINDS } from './scripts/kinds.js';

/** @import { Script } from 'api' */

await loadStyles('scripts.css');

/** @param {Script} script */
const linesOf = (script) => script.source.trimEnd().split('\n').length;

/** @type {import('../ui/table.js').Column<Script>[]} */
const COLUMNS = [
  {
    key: 'name',
    label: 'Name',
    sort: (one) => one.name,
    cell: (one) =>
      html`
        <span class="script-name">
          <span class="mono">${one.name}</span>
          ${one.description && html`<span class="script-about">${one.description}</span>`}
        </span>
      `,
  },
  {
    key: 'kind',
    label: 'Kind',
    shrink: true,
    phone: 'aside',
    sort: (one) => one.kind,
    cell: (one) =>
      html`
        <${Badge} tone=${one.kind === 'tool' ? 'accent' : 'neutral'}>${KINDS[one.kind]?.label ?? one.kind}</${Badge}>
      `,
  },
  {
    key: 'owner',
    label: 'Owner',
    shrink: true,
    phone: 'line',
    phoneLabel: true,
    sort: (one) => (one.owner === 'global' ? 'global' : 'you'),
    cell: (one) => (one.owner === 'global' ? 'global' : 'you'),
  },
  { key: 'lines', label: 'Lines', align: 'right', shrink: true, phone: 'hidden', sort: linesOf, cell: linesOf },
  timeColumn('updated_at', 'Changed', { shrink: true, phone: 'line-aside' }),
];

export default function ScriptsPage() {
  const query = useQuery();
  const kind = query.get('kind');
  const owner = query.get('owner');
  const q = query.get('q').trim();
  const list = useList('/api/scripts', 'scripts', { query: { kind, owner }, every: 10_000 });
  const rows = (list.items ?? []).filter((/** @type {Script} */ one) => hasWords(`${one.name} ${one.description}`, q));
  const filtered = Boolean(kind || owner || q);
  return html`
    <${PageHeader} title="Scripts"
      description="Python that the server and the spaces run: tools, sinks, libraries and startup scripts."
      actions=${html`
        <${Button} kind="primary" icon="plus"
          href=${kind ? `/scripts/new?kind=${encodeURIComponent(kind)}` : '/scripts/new'}>
          New script
        </${Button}>
      `} />
    <div class="toolbar">
      <${QuerySearch} label="Search scripts" />
      <${QuerySelect} label="Kind" name="kind"
        options=${[
          { value: '', label: 'Every kind' },
          ...Object.entries(KINDS).map(([value, { label }]) => ({ value, label })),
        ]} />
      <${QuerySelect} label="Owner" name="owner"
        options=${[
          { value: '', label: 'Yours and global' },
          { value: 'user', label: 'Yours' },
          { value: 'global', label: 'Global' },
        ]} />
    </div>
    <${RecordList} list=${list} label="Scripts" choosable="scripts" columns=${COLUMNS} rows=${rows}
      rowHref=${(/** @type {Script} */ one) => `/scripts/${one.id}`}
      empty=${filtered ? html`<${NoMatch} />` : html`<${NoScripts} />`} />
  `;
}

function NoMatch() {
  const query = useQuery();
  return html`
    <${EmptyState} icon="search" title="No script matches"
      action=${html`
        <${Button} onClick=${() => query.set({ q: null, kind: null, owner: null })}>Clear filters</${Button}>
      `} />
  `;
}

function NoScripts() {
  return html`
    <${EmptyState} icon="code" title="No scripts yet" command="svc script create sum --kind tool --file sum.py"
      action=${html`<${Button} icon="plus" href="/scripts/new">New script</${Button}>`}>
      Write one here, or store a file of yours with the command line.
    </${EmptyState}>
  `;
}
