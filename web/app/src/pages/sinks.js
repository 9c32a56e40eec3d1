/** All sinks, failing ones first. */

import { useActivity } from '../lib/activity.js';
import { formatNumber } from '../lib/format.js';
import { html } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { hasWords } from '../lib/search.js';
import { compareByState, sinkState } from '../lib/sinks.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery, useSorting } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Segmented } from '../ui/field.js';
import { QuerySearch } from '../ui/filters.js';
import { Meter } from '../ui/meter.js';
import { Pagination, Table } from '../ui/table.js';
import { activityColumn } from './charts/activity-column.js';
import { hasQueue, LastResult, Patterns, QUEUE_CAPACITY, SinkBadges, SinkStatus } from './sinks/health.js';

/** @import { Sink } from 'api' */

await loadStyles('sinks.css');

const REFRESH_MS = 3_000;
const COMMAND = "svc sink create deploys --patterns 'custom.deploy.*' --url https://example.org/hook";

/** @type {Record<string, (sink: Sink) => boolean>} */
const STATES = {
  '': () => true,
  failing: (sink) => sink.attention,
  active: (sink) => sink.active,
  inactive: (sink) => !sink.active,
};

export default function SinksPage() {
  const query = useQuery();
  const sorting = useSorting();
  const words = query.get('q');
  const state = Object.hasOwn(STATES, query.get('state')) ? query.get('state') : '';
  const list = useList('/api/event-sinks', 'event_sinks', { query: { limit: 1_000 }, every: REFRESH_MS });
  const activity = useActivity();
  const columns = [...COLUMNS, activityColumn((/** @type {Sink} */ sink) => activity?.sinks.get(sink.id))];
  const rows = (list.items ?? [])
    .filter((/** @type {Sink} */ sink) => STATES[state](sink) && hasWords(searchText(sink), words))
    .sort(compareByState);
  const count = (/** @type {string} */ name) => (list.items ?? []).filter(STATES[name]).length;
  const none = list.items?.length === 0;
  return html`
    <${PageHeader} title="Sinks"
      description="Receivers of events. By default, a sink gets its events in order, one at a time, with retries."
      actions=${html`<${Button} kind="primary" icon="plus" href="/sinks/new">New sink</${Button}>`} />
    ${
      pendingOf(list, { page: true }) ??
      html`
        ${
          !none &&
          html`
            <div class="toolbar">
              <${QuerySearch} label="Search sinks" placeholder="Name, description, pattern" />
              <${Segmented} label="State" value=${state}
                onInput=${(/** @type {string} */ value) => query.set({ state: value })}
                options=${[
                  { value: '', label: 'All' },
                  { value: 'failing', label: `Failing ${count('failing')}` },
                  { value: 'active', label: 'Active' },
                  { value: 'inactive', label: 'Inactive' },
                ]} />
            </div>
          `
        }
        <${ErrorNotice} error=${list.error} title="Not up to date" />
        <${Card} flush>
          <${Table} label="Sinks" choosable="sinks" columns=${columns}
            rows=${rows} sorting=${list.hasMore ? null : sorting}
            rowHref=${(/** @type {Sink} */ sink) => `/sinks/${sink.id}`} empty=${html`<${Empty} none=${none} />`} />
          <${Pagination} list=${list} />
        </${Card}>
      `
    }
  `;
}

/** @param {Sink} sink */
const searchText = (sink) =>
  [sink.name, sink.description, sink.type, sink.owner, sink.webhook?.url ?? '', ...sink.patterns].join(' ');

/** @type {import('../ui/table.js').Column<Sink>[]} */
const COLUMNS = [
  {
    key: 'name',
    label: 'Name',
    sort: (sink) => sink.name,
    cell: (sink) =>
      html`
        <span class="sink-name">
          <span class="row"><span class="mono">${sink.name}</span><${SinkBadges} sink=${sink} /></span>
          ${sink.description && html`<span class="sink-about">${sink.description}</span>`}
        </span>
      `,
  },
  {
    key: 'patterns',
    label: 'Patterns',
    phone: 'line',
    sort: (sink) => sink.patterns.join(' '),
    cell: (sink) => html`<${Patterns} patterns=${sink.patterns} />`,
  },
  {
    key: 'state',
    label: 'State',
    shrink: true,
    phone: 'aside',
    sort: (sink) => sinkState(sink).label,
    cell: (sink) => html`<${SinkStatus} sink=${sink} />`,
  },
  {
    key: 'queue',
    label: 'Queue',
    shrink: true,
    phone: 'hidden',
    sort: (sink) => sink.queue_depth,
    cell: (sink) =>
      hasQueue(sink)
        ? html`<${Meter} value=${sink.queue_depth} max=${QUEUE_CAPACITY} label="Queue" />`
        : html`<span class="muted">none</span>`,
  },
  {
    key: 'dropped',
    label: 'Lost',
    align: 'right',
    shrink: true,
    phone: 'hidden',
    sort: (sink) => sink.lost ?? 0,
    cell: (sink) => html`
      <span class=${sink.lost ? 'bad-number' : 'muted'} title=${`${formatNumber(sink.dropped)} dropped in total`}>
        ${formatNumber(sink.lost ?? 0)}
      </span>
    `,
  },
  {
    key: 'last',
    label: 'Last result',
    phone: 'more',
    sort: (sink) => sink.last_delivery?.at,
    cell: (sink) => html`<${LastResult} sink=${sink} />`,
  },
];

/** @param {{none: boolean}} props */
function Empty({ none }) {
  if (!none)
    return html`
      <${EmptyState} icon="filter" title="No sink matches"><p>Change the search or the state.</p></${EmptyState}>
    `;
  return html`
    <${EmptyState} icon="send" title="No sinks yet" command=${COMMAND}
      action=${html`<${Button} href="/sinks/new" icon="plus">New sink</${Button}>`}>
      <p>A sink takes the events its patterns match and posts them to an address, or runs a script.</p>
    </${EmptyState}>
  `;
}
