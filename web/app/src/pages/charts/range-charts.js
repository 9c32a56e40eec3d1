/** Counts and latencies of the last hour, day, week or month, of a method or a sink. */
import { withQuery } from '../../lib/api.js';
import { formatDuration } from '../../lib/duration.js';
import { exactTime, formatNumber, plural } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Bars, ChartCard, Line } from '../../ui/chart.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';

/** @typedef {{at: string, count: number, bad: number, p50_ms: number | null, p95_ms: number | null}} Point */
/** @typedef {{total: Point, points: Point[]}} Stats */

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
 * @param {string} props.path of the statistics
 * @param {'call' | 'attempt'} props.one what is counted
 */
export function RangeCharts({ path, one }) {
  const query = useQuery();
  const range = RANGES.find(({ value }) => value === query.get('range')) ?? RANGES[0];
  const loaded = useResource(withQuery(path, { range: range.value }), { every: EVERY_MS });
  const setRange = (/** @type {string} */ value) => query.set({ range: value === RANGES[0].value ? null : value });
  const pending = pendingOf(loaded);
  const stats = pending ? null : { total: pointOf(loaded.data.total), points: loaded.data.points.map(pointOf) };
  return html`
    <div class="stack">
      <${Segmented} label="Time range of the charts" value=${range.value} onInput=${setRange} options=${RANGES} />
      ${
        pending ??
        html`
          <${ErrorNotice} error=${loaded.error} title="Not up to date" />
          <div class="columns">
            <${CountChart} stats=${stats} start=${range.start} one=${one} />
            <${LatencyChart} stats=${stats} start=${range.start} one=${one} />
          </div>
        `
      }
    </div>
  `;
}

/** @param {any} point of a method or a sink @returns {Point} */
const pointOf = (point) => ({
  ...point,
  count: point.calls ?? point.attempts,
  bad: point.errors ?? point.failed,
});

/** @param {{stats: Stats, start: string, one: string}} props */
function CountChart({ stats, start, one }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { points, total } = stats;
  const shown = points[at ?? -1] ?? total;
  const top = Math.max(...points.map((point) => point.count));
  const title = one === 'call' ? 'Calls' : 'Attempts';
  return html`
    <${ChartCard} title=${title} value=${formatNumber(shown.count)} when=${whenOf(points, at)}
      note=${noteOf(shown, one)} top=${top ? formatNumber(top) : ''} onPoint=${setAt} count=${points.length}
      axis=${[start, 'now']}
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

/** @param {{stats: Stats, start: string, one: string}} props */
function LatencyChart({ stats, start, one }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { points, total } = stats;
  const shown = points[at ?? -1] ?? total;
  const top = Math.max(...points.map((point) => point.p95_ms ?? 0));
  return html`
    <${ChartCard} title="Latency, p95" value=${durationOf(shown.p95_ms)} when=${whenOf(points, at)}
      note=${shown.p50_ms === null ? `no ${one}s` : `half within ${durationOf(shown.p50_ms)}`}
      top=${top ? formatDuration(top) : ''} onPoint=${setAt} count=${points.length} axis=${[start, 'now']}
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

/** @param {Point[]} points @param {number | null} at */
const whenOf = (points, at) => (at === null ? '' : `from ${exactTime(points[at].at)}`);
