/** Charts of calls per minute and latency. Pointing at a minute shows its value above the chart. */
import { formatDuration, formatNumber, plural } from '../../lib/format.js';
import { cx, html, useState } from '../../lib/preact.js';
import { Card } from '../../ui/card.js';

/** @typedef {import('../overview.js').Minute} Minute */

/** Size of the view box, which stretches to the width of the card. */
const WIDTH = 600;
const HEIGHT = 96;
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

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
  return html`
    <${ChartCard} title="Calls per minute" value=${formatNumber(shown.calls)} when=${whenOf(minutes, at)}
      top=${top ? formatNumber(top) : ''} onPoint=${setAt}
      note=${html`
        ${
          top === 0
            ? 'no calls yet'
            : shown.errors
              ? html`<span class="tone-bad overview-bad">${plural(shown.errors, 'failure')}</span>`
              : 'no failures'
        }
      `}
      label=${`Calls per minute over the last hour: ${words}`} count=${minutes.length}>
      ${minutes.map(
        (minute, index) =>
          html`
            <${Bar} key=${minute.minute} minute=${minute} index=${index} count=${minutes.length} top=${top}
              on=${index === at} />
          `,
      )}
    </${ChartCard}>
  `;
}

/** @param {{minute: Minute, index: number, count: number, top: number, on: boolean}} props */
function Bar({ minute, index, count, top, on }) {
  const step = WIDTH / count;
  const tall = (/** @type {number} */ calls) =>
    top === 0 || calls === 0 ? 0 : Math.max(2, (calls / top) * (HEIGHT - 4));
  const box = { x: round(index * step + step * 0.14), width: round(step * 0.72), rx: 1 };
  if (minute.calls === 0) return html`<rect ...${box} class="bar-zero" y=${HEIGHT - 1.5} height="1.5" />`;
  return html`
    <rect ...${box} class=${cx('bar', on && 'overview-on')} y=${round(HEIGHT - tall(minute.calls))}
      height=${round(tall(minute.calls))} />
    ${
      minute.errors > 0 &&
      html`
        <rect ...${box} class="bar-bad" y=${round(HEIGHT - tall(minute.errors))} height=${round(tall(minute.errors))} />
      `
    }
  `;
}

/** @param {{minutes: Minute[]}} props */
export function LatencyChart({ minutes }) {
  const top = Math.max(...minutes.map((minute) => minute.p95_ms ?? 0));
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const latest = minutes.findLast((minute) => minute.p95_ms !== null);
  const shown = at === null ? latest : minutes[at];
  const step = WIDTH / minutes.length;
  const y = (/** @type {number} */ ms) => round(HEIGHT - 3 - (ms / (top || 1)) * (HEIGHT - 6));
  const words = latest
    ? `latest ${formatDuration(latest.p95_ms ?? 0)}, at most ${formatDuration(top)}`
    : 'no calls in the last hour';
  return html`
    <${ChartCard} title="Latency, p95" value=${shown?.p95_ms != null ? formatDuration(shown.p95_ms) : '–'}
      when=${shown ? whenOf(minutes, minutes.indexOf(shown)) : ''}
      note=${shown?.p50_ms != null ? `half within ${formatDuration(shown.p50_ms)}` : 'no calls'}
      top=${top ? formatDuration(top) : ''} onPoint=${setAt}
      label=${`95th percentile of the latency per minute over the last hour: ${words}`} count=${minutes.length}>
      <line class="overview-floor" x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
      ${
        at !== null &&
        html`
          <line class="overview-cursor" x1=${round((at + 0.5) * step)} x2=${round((at + 0.5) * step)} y1="0"
            y2=${HEIGHT} />
        `
      }
      ${runs(minutes).map((run) => {
        const points = run.map(({ index, ms }) => `${round((index + 0.5) * step)},${y(ms)}`);
        const [first, last] = [round((run[0].index + 0.5) * step), round((run[run.length - 1].index + 0.5) * step)];
        return html`
          <path key=${`area ${first}`} class="spark-area"
            d=${`M${first},${HEIGHT} L${points.join(' L')} L${last},${HEIGHT} Z`} />
          <polyline key=${`line ${first}`} class="spark-line overview-line" fill="none"
            points=${points.length > 1 ? points.join(' ') : `${points[0]} ${points[0]}`} />
        `;
      })}
    </${ChartCard}>
  `;
}

/** Minutes without calls have no latency, so the line has gaps. @param {Minute[]} minutes */
function runs(minutes) {
  /** @type {{index: number, ms: number}[][]} */
  const found = [];
  for (const [index, { p95_ms: ms }] of minutes.entries()) {
    if (ms === null) continue;
    const last = found[found.length - 1];
    if (last && last[last.length - 1].index === index - 1) last.push({ index, ms });
    else found.push([{ index, ms }]);
  }
  return found;
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.value the value of the selected minute
 * @param {any} props.note
 * @param {string} props.when
 * @param {string} props.top the value of the highest point
 * @param {string} props.label description for screen readers
 * @param {number} props.count
 * @param {(index: number | null) => void} props.onPoint
 * @param {any} [props.children]
 */
function ChartCard({ title, value, note, when, top, label, count, onPoint, children }) {
  const point = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    onPoint(Math.min(count - 1, Math.max(0, Math.floor(part * count))));
  };
  return html`
    <${Card} title=${title} actions=${html`<span class="muted small">${when}</span>`}>
      <p class="overview-read"><span class="stat-value">${value}</span><span class="muted small">${note}</span></p>
      <div class="overview-chart">
        <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} height=${HEIGHT} preserveAspectRatio="none" role="img"
          aria-label=${label} onPointerMove=${point} onPointerLeave=${() => onPoint(null)}>
          ${children}
        </svg>
        <span class="overview-top muted" aria-hidden="true">${top}</span>
      </div>
      <p class="overview-axis muted" aria-hidden="true"><span>60 min ago</span><span>now</span></p>
    </${Card}>
  `;
}

/** @param {Minute[]} minutes @param {number | null} at */
function whenOf(minutes, at) {
  return at === null || at === minutes.length - 1 ? 'this minute' : clock.format(new Date(minutes[at].minute));
}

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100;
