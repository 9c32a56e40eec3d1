/**
 * Small charts as SVG. The value at the pointer is shown above the chart. A table has all values, for screen readers
 * and for users who want the numbers. Failures are hatched, so that they differ from the rest without colours.
 */
import { cx, html, useId, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { Card } from './card.js';
import { Table } from './table.js';

await loadStyles('chart.css');

/** Size of the view box, which stretches to the width of the card. */
const WIDTH = 600;
const HEIGHT = 96;

/**
 * @typedef {object} ChartFrame
 * @property {string} title
 * @property {string} value of the point that is shown
 * @property {any} note beside the value
 * @property {string} when time of the point that is shown
 * @property {string} top the value of the highest point
 * @property {string} label description for screen readers
 * @property {[string, string]} axis words at the left and at the right end
 * @property {number} count of points
 * @property {(index: number | null) => void} onPoint
 * @property {(index: number) => void} [onChoose] a click on a point
 * @property {{head: string[], rows: string[][]}} table all values
 */

/** @param {ChartFrame & {children?: any}} props */
export function ChartCard({ title, value, note, when, top, label, axis, count, onPoint, onChoose, table, children }) {
  const indexAt = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    return Math.min(count - 1, Math.max(0, Math.floor(part * count)));
  };
  return html`
    <${Card} title=${title} actions=${html`<span class="muted small">${when}</span>`}>
      <p class="chart-read"><span class="stat-value">${value}</span><span class="muted small">${note}</span></p>
      <div class="chart">
        <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} height=${HEIGHT} preserveAspectRatio="none" role="img"
          aria-label=${label} onPointerMove=${(/** @type {any} */ event) => onPoint(indexAt(event))}
          onPointerLeave=${() => onPoint(null)} class=${onChoose ? 'chart-choice' : undefined}
          onClick=${onChoose && ((/** @type {any} */ event) => onChoose(indexAt(event)))}>
          ${children}
        </svg>
        <span class="chart-top muted" aria-hidden="true">${top}</span>
      </div>
      <p class="chart-axis muted" aria-hidden="true"><span>${axis[0]}</span><span>${axis[1]}</span></p>
      <${Numbers} title=${title} table=${table} />
    </${Card}>
  `;
}

/**
 * The values as a table, which is built when it is opened.
 * @param {{title: string, table: ChartFrame['table']}} props
 */
function Numbers({ title, table }) {
  const [open, setOpen] = useState(false);
  if (table.rows.length === 0) return null;
  const columns = table.head.map((label, index) => ({
    key: String(index),
    label,
    align: index > 0 ? /** @type {const} */ ('right') : undefined,
    cell: (/** @type {string[]} */ row) => row[index],
  }));
  return html`
    <details class="chart-numbers" onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
      <summary>Show as table</summary>
      ${
        open &&
        html`
          <${Table} plain label=${`${title}, as a table`} columns=${columns} rows=${table.rows}
            rowKey=${(/** @type {string[]} */ row) => row[0]} />
        `
      }
    </details>
  `;
}

/**
 * Bars. The hatched part at the bottom of a bar is the number of failures.
 * @param {{bars: {key: string, total: number, bad?: number}[], at: number | null}} props `at`: the index of the bar
 *   that the pointer is at
 */
export function Bars({ bars, at }) {
  const id = useId();
  const top = Math.max(0, ...bars.map((bar) => bar.total));
  const step = WIDTH / Math.max(1, bars.length);
  const tall = (/** @type {number} */ amount) =>
    top === 0 || amount === 0 ? 0 : Math.max(2, (amount / top) * (HEIGHT - 4));
  return html`
    <defs>
      <pattern id=${id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="bar-bad" width="6" height="6" /><rect class="bar-hatch" width="2" height="6" />
      </pattern>
    </defs>
    ${bars.map(({ key, total, bad = 0 }, index) => {
      const box = { x: round(index * step + step * 0.14), width: round(step * 0.72), rx: 1 };
      if (total === 0) return html`<rect key=${key} ...${box} class="bar-zero" y=${HEIGHT - 1.5} height="1.5" />`;
      return html`
        <g key=${key}>
          <rect ...${box} class=${cx('bar', index === at && 'bar-on')} y=${round(HEIGHT - tall(total))}
            height=${round(tall(total))} />
          ${
            bad > 0 &&
            html`<rect ...${box} fill=${`url(#${id})`} y=${round(HEIGHT - tall(bad))} height=${round(tall(bad))} />`
          }
        </g>
      `;
    })}
  `;
}

/**
 * A line over an area, with gaps where there is no value.
 * @param {{values: (number | null)[], at: number | null}} props
 */
export function Line({ values, at }) {
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  const step = WIDTH / Math.max(1, values.length);
  const x = (/** @type {number} */ index) => round((index + 0.5) * step);
  const y = (/** @type {number} */ value) => round(HEIGHT - 3 - (value / (top || 1)) * (HEIGHT - 6));
  return html`
    <line class="chart-floor" x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
    ${at !== null && html`<line class="chart-cursor" x1=${x(at)} x2=${x(at)} y1="0" y2=${HEIGHT} />`}
    ${runs(values).map((run) => {
      const points = run.map(({ index, value }) => `${x(index)},${y(value)}`);
      const [first, last] = [x(run[0].index), x(run[run.length - 1].index)];
      return html`
        <path key=${`area ${first}`} class="chart-area"
          d=${`M${first},${HEIGHT} L${points.join(' L')} L${last},${HEIGHT} Z`} />
        <polyline key=${`line ${first}`} class="chart-line" fill="none"
          points=${points.length > 1 ? points.join(' ') : `${points[0]} ${points[0]}`} />
      `;
    })}
  `;
}

/** The parts of a line between its gaps. @param {(number | null)[]} values */
function runs(values) {
  /** @type {{index: number, value: number}[][]} */
  const found = [];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const last = found[found.length - 1];
    if (last && last[last.length - 1].index === index - 1) last.push({ index, value });
    else found.push([{ index, value }]);
  }
  return found;
}

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100;
