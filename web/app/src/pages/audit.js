/** The audit log, newest entry first. */
import { formatNumber } from '../lib/format.js';
import { briefJson } from '../lib/json.js';
import { html, useMemo, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { KeyValue, PageHeader } from '../ui/card.js';
import { Drawer } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { JsonView } from '../ui/json-view.js';
import { RecordList } from '../ui/record-page.js';
import { Time } from '../ui/time.js';
import { FILTERS, Filters } from './audit/filters.js';
import { useNames } from './audit/names.js';
import { nameOf, pageOf } from './audit/target.js';
import { rangeOf } from './live-list/filters.js';

/** @import { AuditEntry } from 'api' */

await loadStyles('live-list.css');
await loadStyles('audit.css');

/** @param {Map<string, string>} names @returns {import('../ui/table.js').Column<AuditEntry>[]} */
const columnsOf = (names) => [
  {
    key: 'action',
    label: 'Action',
    shrink: true,
    cell: (one) => html`
        <span class="mono">${one.action}</span>
        ${one.count && html`<span class="muted">×${formatNumber(one.count)}</span>`}
      `,
  },
  { key: 'actor', label: 'Actor', mono: true, shrink: true, phone: 'line-aside' },
  {
    key: 'target',
    label: 'Target',
    phone: 'line',
    cell: (one) =>
      html`
        <span class="audit-target">
          <span class="muted">${one.target_type}</span> <${Target} entry=${one} names=${names} />
        </span>
      `,
  },
  {
    key: 'detail',
    label: 'Detail',
    phone: 'more',
    cell: (one) => html`<span class="json-brief mono">${isEmpty(one.detail) ? '' : briefJson(one.detail, 90)}</span>`,
  },
  { key: 'at', label: 'Time', shrink: true, phone: 'aside', cell: (one) => html`<${Time} value=${one.at} />` },
];

/** @param {any} detail */
const isEmpty = (detail) => detail === null || (typeof detail === 'object' && Object.keys(detail).length === 0);

export default function AuditPage() {
  const query = useQuery();
  const [shown, setShown] = useState(/** @type {AuditEntry | null} */ (null));
  const { actor, action, target_type, target_id } = query.all;
  // Memoised: a moving "last hour" would change the query at every render.
  const range = useMemo(() => rangeOf(query.all), [query.all.range, query.all.since, query.all.until]);
  const list = useList('/api/audit', 'audit', {
    query: { actor, action, target_type, target_id, ...range, limit: 50 },
    every: 5_000,
  });
  const names = useNames(list.items);
  const filtered = FILTERS.some((name) => query.get(name));
  const clear = () => query.set(Object.fromEntries(FILTERS.map((name) => [name, null])));
  return html`
    <${PageHeader} title="Audit"
      description="Changes, who made them, and failed deliveries of events. Newest first; the list updates itself." />
    <${Filters} />
    <${RecordList} list=${list} class="audit-card" label="Audit entries" choosable="audit" columns=${columnsOf(names)}
      onRow=${setShown} selected=${(/** @type {AuditEntry} */ one) => one.id === shown?.id}
      empty=${html`
        <${EmptyState} icon="list" title=${filtered ? 'No entry matches' : 'No entries yet'}
          command=${commandOf(query.all)}
          action=${filtered && html`<${Button} onClick=${clear}>Clear filters</${Button}>`} />
      `} />
    ${shown && html`<${Detail} entry=${shown} names=${names} onClose=${() => setShown(null)} />`}
  `;
}

/** The name as a link, if the target has a page. @param {{entry: AuditEntry, names: Map<string, string>}} props */
function Target({ entry, names }) {
  const page = pageOf(entry);
  const name = nameOf(entry, names);
  return page
    ? html`<a class="mono anywhere" href=${page} title=${entry.target_id}>${name}</a>`
    : html`<span class="mono anywhere" title=${entry.target_id}>${name}</span>`;
}

/** The same filters as a command, without the times. @param {Record<string, string>} asked */
function commandOf({ actor, action, target_type, target_id }) {
  const words = Object.entries({ actor, action, 'target-type': target_type, 'target-id': target_id }).filter(
    ([, value]) => value && /^[\w.@-]+$/.test(value),
  );
  return ['svc audit list', ...words.map(([name, value]) => `--${name} ${value}`)].join(' ');
}

/** @param {{entry: AuditEntry, names: Map<string, string>, onClose: () => void}} props */
function Detail({ entry, names, onClose }) {
  const query = useQuery();
  const only = (/** @type {Record<string, string>} */ filter) => {
    query.set(filter);
    onClose();
  };
  return html`
    <${Drawer} title=${html`<span class="mono">${entry.action}</span>`} onClose=${onClose}>
      <div class="stack-large">
        <${KeyValue}
          items=${[
            ['Time', html`<${Time} value=${entry.at} exact />`],
            ['Actor', html`<span class="mono">${entry.actor}</span>`],
            [
              'Target',
              html`
                ${entry.target_type} <${Target} entry=${entry} names=${names} />
              `,
            ],
            ['Target id', html`<span class="mono small">${entry.target_id}</span>`],
            entry.count && [
              'Merged',
              `${formatNumber(entry.count)} entries became this one; the time and the detail are those of the newest`,
            ],
            ['Entry id', html`<span class="mono small">${entry.id}</span>`],
          ]} />
        <section class="stack-small">
          <h3>Detail</h3><${JsonView} value=${entry.detail} label="detail" depth=${3} />
        </section>
        <div class="actions">
          <${Button} icon="filter" onClick=${() => only({ actor: entry.actor })}>Only this actor</${Button}>
          <${Button} icon="filter" onClick=${() => only({ action: entry.action })}>Only this action</${Button}>
          <${Button} icon="filter"
            onClick=${() => only({ target_type: entry.target_type, target_id: entry.target_id })}>
            Only this target
          </${Button}>
        </div>
      </div>
    </${Drawer}>
  `;
}
