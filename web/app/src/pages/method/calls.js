/** The recorded calls of one method: outcomes, durations, callers, and the newest calls. */
import { at, urlOf, withQuery } from '../../lib/api.js';
import { timeTicks } from '../../lib/axis.js';
import { formatDuration } from '../../lib/duration.js';
import { exactTime, formatNumber, plural } from '../../lib/format.js';
import { can, me } from '../../lib/me.js';
import { html, useMemo, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { loadStyles } from '../../lib/styles.js';
import { useQuery } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { Bars, ChartCard } from '../../ui/chart.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Table } from '../../ui/table.js';
import { CallDrawer } from '../calls/drawer.js';
import { COUNT_COLUMNS, callerName, missingWords } from '../calls/groups.js';
import { durationColumns, percentile, timeColumns } from '../calls/summary.js';
import { CallTable } from '../calls/table.js';
import { isFailure } from '../calls/words.js';
import { RangeCharts } from '../charts/range-charts.js';

/** @import { Call, CallGroup, Method } from 'api' */

await loadStyles('calls.css');

const WEEK_MS = 7 * 86_400_000;
/** The maximum number of calls that are loaded for the charts and for the list. */
const READ_MAX = 500;
const SHOWN = 20;
const EVERY_MS = 15_000;
/** Bars of the chart of outcomes. */
const BARS = 42;
/** Ranges of the chart of outcomes. The chart uses the shortest range that contains all calls. */
const RANGES = /** @type {[number, string][]} */ ([
  [3_600_000, '60 min ago'],
  [86_400_000, '24 h ago'],
  [WEEK_MS, '7 days ago'],
]);

/** @param {{method: Method}} props */
export function MethodCalls({ method }) {
  const query = useQuery();
  // Memoised: a moving start would change the request at every render.
  const since = useMemo(() => Date.now() - WEEK_MS, []);
  const filter = { method: method.name, owner: method.owner_id, since: new Date(since).toISOString() };
  const address = withQuery('/api/calls', { ...filter, limit: READ_MAX });
  const loaded = useResource(address, { every: EVERY_MS });
  const pending = pendingOf(loaded);
  if (pending || !loaded.data) return pending;
  const { calls } = loaded.data;
  const hasMore = loaded.data.next_cursor !== null;
  const seesAll = method.owner_id === me.value?.id || can('view_audit');
  const opened = query.get('call');
  const open = (/** @type {string | null} */ id) => query.set({ call: id }, { push: id !== null });
  const all = urlOf('/calls', { method: canonical(method), owner: method.owner });
  return html`
    <div class="stack-large">
      <${ErrorNotice} error=${loaded.error} title="Not up to date" />
      ${seesAll && html`<${RangeCharts} path=${statsPath(method)} one="call" />`}
      <p class="muted">${scopeOf(calls, hasMore, seesAll)}</p>
      ${
        calls.length > 0 &&
        html`
          <div class="columns">
            ${seesAll ? html`<${Callers} filter=${filter} />` : html`<${OutcomeChart} calls=${calls} />`}
            <${DurationChart} calls=${calls} />
          </div>
        `
      }
      <${Card} title="Newest calls" flush
        actions=${html`<${Button} size="small" icon="arrow-right" href=${all}>All calls</${Button}>`}>
        <${CallTable} ofOne calls=${calls.slice(0, SHOWN)} opened=${opened} onOpen=${open}
          empty=${html`
            <${EmptyState} icon="exchange" level=${3} title="No calls in the last 7 days">
              <p>A call appears here a few seconds after it ends.</p>
            </${EmptyState}>
          `} />
      </${Card}>
    </div>
    ${opened && html`<${CallDrawer} key=${opened} id=${opened} onClose=${() => open(null)} />`}
  `;
}

/** Which calls the numbers are about. @param {Call[]} calls @param {boolean} hasMore @param {boolean} seesAll */
function scopeOf(calls, hasMore, seesAll) {
  const whose = seesAll ? '' : ' Your own calls: only the owner of the method sees the calls of others.';
  const oldest = calls.at(-1);
  if (!hasMore || !oldest) return `${plural(calls.length, 'call')} in the last 7 days.${whose}`;
  return `The newest ${plural(calls.length, 'call')}, since ${exactTime(oldest.at)}.${whose}`;
}

/** The name without `user.<owner>.`. @param {Method} method */
function canonical({ name, owner }) {
  const prefix = `user.${owner}.`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The statistics of a method. @param {Method} method */
function statsPath(method) {
  const name = canonical(method);
  const visible = method.owner_id === me.value?.id ? name : `user.${method.owner}.${name}`;
  return at('/api/methods/{name}/stats', { name: visible });
}

/** @param {{calls: Call[]}} props newest first */
function OutcomeChart({ calls }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const to = Date.now();
  const age = to - Date.parse(calls[calls.length - 1].at);
  const [length, start] = RANGES.find(([ms]) => age <= ms) ?? RANGES[RANGES.length - 1];
  const from = to - length;
  const columns = timeColumns(calls, isFailure, { from, to, count: BARS });
  const failed = calls.filter(isFailure).length;
  const shown = at === null ? { total: calls.length, bad: failed } : columns[at];
  const top = Math.max(...columns.map((column) => column.total));
  const busy = columns.filter((column) => column.total > 0);
  return html`
    <${ChartCard} title="Outcomes" value=${formatNumber(shown.total)}
      when=${at === null ? '' : `from ${exactTime(columns[at].at)}`} onPoint=${setAt} count=${BARS}
      note=${
        shown.bad > 0
          ? html`<span class="tone-bad chart-bad">${formatNumber(shown.bad)} failed</span>`
          : shown.total > 0
            ? 'none failed'
            : 'no calls'
      }
      top=${top} axis=${[start, 'now']} ticks=${timeTicks(from, to)}
      label=${`Calls over time: ${plural(calls.length, 'call')}, ${formatNumber(failed)} failed`}
      table=${{
        head: ['From', 'Calls', 'Failed'],
        rows: busy.map((one) => [exactTime(one.at), formatNumber(one.total), formatNumber(one.bad)]),
      }}>
      <${Bars} at=${at} bars=${columns.map((one) => ({ key: String(one.at), total: one.total, bad: one.bad }))} />
    </${ChartCard}>
  `;
}

/** @param {{calls: Call[]}} props */
function DurationChart({ calls }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const columns = durationColumns(calls);
  const shown = at === null ? null : columns[at];
  const [p50, p95] = [percentile(calls, 0.5) ?? 0, percentile(calls, 0.95) ?? 0];
  const words = `half within ${formatDuration(p50)}, 95 % within ${formatDuration(p95)}`;
  const top = Math.max(...columns.map((column) => column.count));
  return html`
    <${ChartCard} title="Duration" value=${shown ? formatNumber(shown.count) : formatDuration(p95)}
      when=${shown ? rangeWords(shown) : ''} onPoint=${setAt} count=${columns.length}
      note=${shown ? (shown.count === 1 ? 'call' : 'calls') : `p95, half within ${formatDuration(p50)}`}
      top=${top} axis=${[edge(columns[0].from), edge(columns[columns.length - 1].to)]} ticks=${middleOf(columns)}
      label=${`Duration of ${plural(calls.length, 'call')}: ${words}`}
      table=${{
        head: ['Took', 'Calls'],
        rows: columns.map((one) => [rangeWords(one), formatNumber(one.count)]),
      }}>
      <${Bars} at=${at} bars=${columns.map((one) => ({ key: String(one.from), total: one.count }))} />
    </${ChartCard}>
  `;
}

/**
 * The start of the column in the middle.
 * @param {{from: number}[]} columns
 * @returns {import('../../lib/axis.js').Tick[]}
 */
function middleOf(columns) {
  const index = Math.round(columns.length / 2);
  return columns.length < 2 ? [] : [{ at: index / columns.length, label: edge(columns[index].from) }];
}

/** @param {number | null} ms */
const edge = (ms) => (ms === null ? 'longer' : ms === 0 ? '0 ms' : formatDuration(ms));

/** @param {{from: number, to: number | null}} column */
function rangeWords({ from, to }) {
  if (to === null) return `over ${formatDuration(from)}`;
  return from === 0 ? `under ${formatDuration(to)}` : `${formatDuration(from)} to ${formatDuration(to)}`;
}

/** @param {{filter: Record<string, string>}} props */
function Callers({ filter }) {
  const loaded = useResource(withQuery('/api/calls/summary', { by: 'caller', ...filter }), { every: EVERY_MS });
  const [all, setAll] = useState(false);
  const summary = loaded.data;
  const rows = summary?.groups ?? [];
  const missing = summary ? missingWords(summary, 'caller') : '';
  return html`
    <${Card} title="Callers" flush
      description=${`Who called this method in the last 7 days, most calls first. ${missing}`.trim()}>
      ${
        pendingOf(loaded) ??
        html`
          <${ErrorNotice} error=${loaded.error} title="Not up to date" />
          <${Table} label="Callers" columns=${CALLER_COLUMNS} rows=${all ? rows : rows.slice(0, SHOWN)}
            rowKey=${(/** @type {CallGroup} */ row) => row.caller_id} />
        `
      }
      ${
        rows.length > SHOWN &&
        !all &&
        html`
          <div class="pagination">
            <${Button} onClick=${() => setAll(true)}>Show all ${formatNumber(rows.length)}</${Button}>
          </div>
        `
      }
    </${Card}>
  `;
}

/** @type {import('../../ui/table.js').Column<CallGroup>[]} */
const CALLER_COLUMNS = [{ key: 'caller', label: 'Caller', mono: true, cell: callerName }, ...COUNT_COLUMNS];
