/** The methods a space offers. */
import { withQuery } from '../../lib/api.js';
import { useCursorPages } from '../../lib/cursor-pages.js';
import { me } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { Badge, Status, toneOf } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { PageButtons } from '../../ui/page-buttons.js';
import { Table } from '../../ui/table.js';
import { PublishCommands } from './publish-commands.js';

/** @import { Method, Space } from 'api' */

/** The number of methods in one page of the table. */
const PAGE = 100;

/** @param {{space: Space}} props */
export function MethodsCard({ space }) {
  const mine = me.value?.id === space.owner_id;
  const address = withQuery('/api/methods', { space: space.id, limit: PAGE });
  const pages = useCursorPages(mine ? address : null, { every: 3_000 });
  const { resource } = pages;
  return html`
    <${Card} title="Methods" flush>
      ${
        mine
          ? (pendingOf(resource) ??
            html`
              <${ErrorNotice} error=${resource.error} title="Not up to date" />
              <${MethodsTable} space=${space} rows=${resource.data?.methods} />
              <${PageButtons} pages=${pages} size=${PAGE} count=${resource.data?.count} />
            `)
          : html`
            <p class="card-note muted">
              Only the owner, <span class="mono">${space.owner}</span>, sees which methods a space offers.
            </p>
          `
      }
    </${Card}>
  `;
}

/** @param {{space: Space, rows: Method[]}} props */
function MethodsTable({ space, rows }) {
  const here = (/** @type {Method} */ method) => method.providers?.find((provider) => provider.space_id === space.id);
  /** @type {import('../../ui/table.js').Column<Method>[]} */
  const columns = [
    { key: 'name', label: 'Method', mono: true },
    {
      key: 'scope',
      label: 'Scope',
      shrink: true,
      cell: (method) =>
        html`<${Badge} tone=${method.scope === 'shared' ? 'accent' : 'neutral'}>${method.scope}</${Badge}>`,
    },
    {
      key: 'state',
      label: 'State',
      shrink: true,
      cell: (method) => html`<${Status} tone=${toneOf(here(method)?.state ?? '')}>${here(method)?.state}</${Status}>`,
    },
    { key: 'in_flight', label: 'In flight', align: 'right', shrink: true, cell: (method) => here(method)?.in_flight },
  ];
  const none = html`
    <${EmptyState} level=${3} icon="function" title="No methods">
      <p>A file such as <code>methods.toml</code> names your program and the methods that it answers.</p>
      <${PublishCommands} space=${space} />
    </${EmptyState}>
  `;
  return html`
    <${Table} label="Methods" columns=${columns} rows=${rows} rowKey=${(/** @type {Method} */ method) => method.name}
      rowHref=${(/** @type {Method} */ method) => `/methods/${encodeURIComponent(method.name)}`} empty=${none} />
  `;
}
