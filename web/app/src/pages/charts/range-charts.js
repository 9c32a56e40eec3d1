/** Counts and latencies of the last hour, day, week or month: of a method, of a sink, or of all calls. */
import { withQuery } from '../../lib/api.js';
import { timeTicks } from '../../lib/axis.js';
import { formatDuration } from '../../lib/duration.js';
import { exactTime, formatNumber, plural } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Bars, ChartCard, Line } from '../../ui/chart.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';

/** @typedef {{at: string, count: number, bad: number, p50_ms: number | null, p95_ms: number | null}} Point */
/** @typedef {{start: string, total: Point, points: Point[], ticks: import('../../lib/axis.js').Tick[]}} Stats */

/** @import { Address } from 'requests' */

/** @typedef {'/api/stats/calls' | '/api/methods/{name}/stats' | '/api/event-sinks/{id}/stats'} StatsPath */

const EVERY_MS = 15_000;
/** The ranges of the API, and the words at the left end of the charts. */
const RANGES = [
  { value: '1h', label: '1 h', start: '60 min ago' },
  { value: '24h', label: '24 h', start: '24 h ago' },
  { value: '7d', label: '7 d', start: '7 days ago' },
  { value: '30d', label: '30 d', start: '30 days ago' },
];

/**
 * @param {object} props
 * @param {StatsPath | Address<StatsPath>} props.path of the statistics
 * @param {'call' | 'attempt'} props.one what is counted
 * @param {number} [props.every] milliseconds between two requests
 */
export function RangeCharts({ path, one, every = EVERY_MS }) {
  const query = useQuery();
  const range = rangeOf(query.get('range')).value;
  const loaded = useResource(withQuery(path, { range }), { every });
  const setRange = (/** @type {string} */ value) => query.set({ range: value === RANGES[0].value ? null : value });
  const pending = pendingOf(loaded);
  const stats = pending ? null : statsOf(loaded.data);
  return html`
    <div class="stack">
      <${Segmented} label="Time range of the charts" value=${range} onInput=${setRange} options=${RANGES} />
      ${
        pending ??
        html`
          <${ErrorNotice} error=${loaded.error} title="Not up to date" />
          <div class="columns">
            <${CountChart} stats=${stats} one=${one} />
            <${LatencyChart} stats=${stats} one=${one} />
          </div>
        `
      }
    </div>
  `;
}

/** @param {string | null} value @returns {typeof RANGES[0]} */
const rangeOf = (value) => RANGES.find((range) => range.value === value) ?? RANGES[0];

/**
 * The words at the left end belong to the range of the answer: while another range loads, the old numbers are shown.
 * @param {any} data an answer of the API
 * @returns {Stats}
 */
function statsOf({ range, total, points, step_seconds }) {
  const from = Date.parse(points[0].at);
  const ticks = timeTicks(from, from + points.length * step_seconds * 1_000);
  return { start: rangeOf(range).start, total: pointOf(total), points: points.map(pointOf), ticks };
}

/** @param {any} point of calls or of attempts @returns {Point} */
const pointOf = (point) => ({
  ...point,
  count: point.calls ?? point.attempts,
  bad: point.errors ?? point.failed,
});

/** @param {{stats: Stats, one: string}} props */
function CountChart({ stats, one }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { start, points, total, ticks } = stats;
  const shown = points[at ?? -1] ?? total;
  const top = Math.max(...points.map((point) => point.count));
  const title = one === 'call' ? 'Calls' : 'Attempts';
  return html`
    <${ChartCard} title=${title} value=${formatNumber(shown.count)} when=${whenOf(points, at)}
      note=${noteOf(shown, one)} top=${top} onPoint=${setAt} count=${points.length}
      axis=${[start, 'now']} ticks=${ticks}
      label=${`${title} since ${start}: ${plural(total.count, one)}, ${formatNumber(total.bad)} failed`}
      table=${{
        head: ['From', title, 'Failed'],
        rows: points
          .filter((point) => point.count > 0)
          .map((point) => [exactTime(point.at), formatNumber(point.count), formatNumber(point.bad)]),
      }}>
      <${Bars} at=${at} bars=${points.map(({ at: key, count, bad }) => ({ key, total: count, bad }))} />
    </${ChartCard}>
  `;
}

/** @param {Point} point @param {string} one */
function noteOf({ count, bad }, one) {
  if (count === 0) return `no ${one}s`;
  if (bad === 0) return 'none failed';
  return html`<span class="tone-bad chart-bad">${formatNumber(bad)} failed</span>`;
}

/** @param {{stats: Stats, one: string}} props */
function LatencyChart({ stats, one }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { start, points, total, ticks } = stats;
  const shown = points[at ?? -1] ?? total;
  const top = Math.max(...points.map((point) => point.p95_ms ?? 0));
  return html`
    <${ChartCard} title="Latency, p95" value=${durationOf(shown.p95_ms)} when=${whenOf(points, at)}
      note=${shown.p50_ms === null ? `no ${one}s` : `half within ${durationOf(shown.p50_ms)}`}
      top=${top} format=${formatDuration} onPoint=${setAt} count=${points.length}
      axis=${[start, 'now']} ticks=${ticks}
      label=${`95th percentile of the latency since ${start}: ${durationOf(total.p95_ms)}`}
      table=${{
        head: ['From', 'p50', 'p95'],
        rows: points
          .filter((point) => point.count > 0)
          .map((point) => [exactTime(point.at), durationOf(point.p50_ms), durationOf(point.p95_ms)]),
      }}>
      <${Line} at=${at} values=${points.map((point) => point.p95_ms)} />
    </${ChartCard}>
  `;
}

/** @param {number | null} ms */
const durationOf = (ms) => (ms === null ? '–' : formatDuration(ms));

/** @param {Point[]} points @param {number | null} at the pointer; a shorter range may have fewer points */
function whenOf(points, at) {
  const point = points[at ?? -1];
  return point ? `from ${exactTime(point.at)}` : '';
}
