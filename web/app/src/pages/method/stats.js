/** Calls and latency of a method in the last hour, day, week or month: for its owner and users with `view_audit`. */
import { withQuery } from '../../lib/api.js';
import { exactTime, formatDuration, formatNumber, plural } from '../../lib/format.js';
import { me } from '../../lib/me.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Bars, ChartCard, Line } from '../../ui/chart.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';

/** @typedef {{at: string, calls: number, errors: number, p50_ms: number | null, p95_ms: number | null}} Point */
/** @typedef {{step_seconds: number, total: Point, points: Point[]}} Stats */
/** @typedef {import('./types.js').Method} Method */

const EVERY_MS = 15_000;
/** The ranges of the API, and the words at the left end of the charts. */
const RANGES = [
  { value: '1h', label: '1 h', start: '60 min ago' },
  { value: '24h', label: '24 h', start: '24 h ago' },
  { value: '7d', label: '7 d', start: '7 days ago' },
  { value: '30d', label: '30 d', start: '30 days ago' },
];

/** @param {{method: Method, canonicalName: string}} props */
export function MethodStats({ method, canonicalName }) {
  const query = useQuery();
  const range = RANGES.find((one) => one.value === query.get('range')) ?? RANGES[0];
  const isOwn = method.owner_id === me.value?.id;
  const name = isOwn ? canonicalName : `user.${method.owner}.${canonicalName}`;
  const address = withQuery(`/api/methods/${encodeURIComponent(name)}/stats`, { range: range.value });
  const loaded = useResource(address, { every: EVERY_MS });
  const setRange = (/** @type {string} */ value) => query.set({ range: value === RANGES[0].value ? null : value });
  return html`
    <div class="stack">
      <${Segmented} label="Time range of the charts" value=${range.value} onInput=${setRange} options=${RANGES} />
      ${
        pendingOf(loaded) ??
        html`
          <${ErrorNotice} error=${loaded.error} title="Not up to date" />
          <div class="columns">
            <${CallsChart} stats=${loaded.data} start=${range.start} />
            <${LatencyChart} stats=${loaded.data} start=${range.start} />
          </div>
        `
      }
    </div>
  `;
}

/** @param {{stats: Stats, start: string}} props */
function CallsChart({ stats, start }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { points, total } = stats;
  const shown = points[at ?? -1] ?? total;
  const top = Math.max(...points.map((point) => point.calls));
  return html`
    <${ChartCard} title="Calls" value=${formatNumber(shown.calls)} when=${whenOf(points, at)} note=${noteOf(shown)}
      top=${top ? formatNumber(top) : ''} onPoint=${setAt} count=${points.length} axis=${[start, 'now']}
      label=${`Calls since ${start}: ${plural(total.calls, 'call')}, ${formatNumber(total.errors)} failed`}
      table=${{
        head: ['From', 'Calls', 'Failed'],
        rows: points
          .filter((point) => point.calls > 0)
          .map((point) => [exactTime(point.at), formatNumber(point.calls), formatNumber(point.errors)]),
      }}>
      <${Bars} at=${at} bars=${points.map(({ at: key, calls, errors }) => ({ key, total: calls, bad: errors }))} />
    </${ChartCard}>
  `;
}

/** @param {Point} point */
function noteOf({ calls, errors }) {
  if (calls === 0) return 'no calls';
  if (errors === 0) return 'none failed';
  return html`<span class="tone-bad chart-bad">${formatNumber(errors)} failed</span>`;
}

/** @param {{stats: Stats, start: string}} props */
function LatencyChart({ stats, start }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { points, total } = stats;
  const shown = points[at ?? -1] ?? total;
  const top = Math.max(...points.map((point) => point.p95_ms ?? 0));
  return html`
    <${ChartCard} title="Latency, p95" value=${durationOf(shown.p95_ms)} when=${whenOf(points, at)}
      note=${shown.p50_ms === null ? 'no calls' : `half within ${durationOf(shown.p50_ms)}`}
      top=${top ? formatDuration(top) : ''} onPoint=${setAt} count=${points.length} axis=${[start, 'now']}
      label=${`95th percentile of the latency since ${start}: ${durationOf(total.p95_ms)}`}
      table=${{
        head: ['From', 'p50', 'p95'],
        rows: points
          .filter((point) => point.calls > 0)
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
