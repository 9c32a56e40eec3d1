/** Charts of calls per minute and latency. */
import { formatDuration } from '../../lib/duration.js';
import { formatNumber, plural } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { Bars, ChartCard, Line } from '../../ui/chart.js';

/** @typedef {import('../overview.js').Minute} Minute */

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const AXIS = /** @type {[string, string]} */ (['60 min ago', 'now']);

/** @param {{minutes: Minute[]}} props */
export function CallsChart({ minutes }) {
  const top = Math.max(...minutes.map((minute) => minute.calls));
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const shown = minutes[at ?? minutes.length - 1];
  const errors = minutes.reduce((sum, minute) => sum + minute.errors, 0);
  const words =
    top === 0
      ? 'no calls in the last hour'
      : `${formatNumber(shown.calls)} in this minute, at most ${formatNumber(top)}, ` +
        `${formatNumber(errors)} failed in the hour`;
  const busy = minutes.filter((minute) => minute.calls > 0);
  return html`
    <${ChartCard} title="Calls per minute" value=${formatNumber(shown.calls)} when=${whenOf(minutes, at)}
      top=${top ? formatNumber(top) : ''} onPoint=${setAt} axis=${AXIS} count=${minutes.length}
      label=${`Calls per minute over the last hour: ${words}`} note=${noteOf(shown, top)}
      table=${{
        head: ['Minute', 'Calls', 'Failed'],
        rows: busy.map((one) => [timeOf(one), formatNumber(one.calls), formatNumber(one.errors)]),
      }}>
      <${Bars} at=${at} bars=${minutes.map((one) => ({ key: one.minute, total: one.calls, bad: one.errors }))} />
    </${ChartCard}>
  `;
}

/** @param {Minute} shown @param {number} top */
function noteOf(shown, top) {
  if (top === 0) return 'no calls yet';
  if (shown.errors === 0) return 'no failures';
  return html`<span class="tone-bad chart-bad">${plural(shown.errors, 'failure')}</span>`;
}

/** @param {{minutes: Minute[]}} props */
export function LatencyChart({ minutes }) {
  const top = Math.max(...minutes.map((minute) => minute.p95_ms ?? 0));
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const known = minutes.filter((minute) => minute.p95_ms !== null);
  const latest = known.at(-1);
  const shown = at === null ? latest : minutes[at];
  const words = latest
    ? `latest ${formatDuration(latest.p95_ms ?? 0)}, at most ${formatDuration(top)}`
    : 'no calls in the last hour';
  return html`
    <${ChartCard} title="Latency, p95" value=${shown?.p95_ms != null ? formatDuration(shown.p95_ms) : '–'}
      when=${shown ? whenOf(minutes, minutes.indexOf(shown)) : ''}
      note=${shown?.p50_ms != null ? `half within ${formatDuration(shown.p50_ms)}` : 'no calls'}
      top=${top ? formatDuration(top) : ''} onPoint=${setAt} axis=${AXIS} count=${minutes.length}
      label=${`95th percentile of the latency per minute over the last hour: ${words}`}
      table=${{
        head: ['Minute', 'p50', 'p95'],
        rows: known.map((one) => [timeOf(one), formatDuration(one.p50_ms ?? 0), formatDuration(one.p95_ms ?? 0)]),
      }}>
      <${Line} at=${at} values=${minutes.map((minute) => minute.p95_ms)} />
    </${ChartCard}>
  `;
}

/** @param {Minute} minute */
const timeOf = ({ minute }) => clock.format(new Date(minute));

/** @param {Minute[]} minutes @param {number | null} at */
function whenOf(minutes, at) {
  return at === null || at === minutes.length - 1 ? 'this minute' : timeOf(minutes[at]);
}
