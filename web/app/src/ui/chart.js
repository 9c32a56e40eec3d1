/**
 * Small charts as SVG. The value at the pointer is shown above the chart. A table has all values, for screen readers
 * and for users who want the numbers. Failures are hatched, so that they differ from the rest without colours.
 */
import { valueTick } from '../lib/axis.js';
import { formatNumber } from '../lib/format.js';
import { cx, html, useId, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { Card } from './card.js';
import { Table } from './table.js';

await loadStyles('chart.css');

/** Size of the view box, which stretches to the width of the card. */
const WIDTH = 600;
const HEIGHT = 96;
/** Space above the highest value, for the width of a line. */
const ABOVE = 4;
/** Ticks nearer to an end would touch the words at this end. On a phone, only ticks in the middle have labels. */
const [TICKS_FROM, TICKS_TO] = [0.3, 0.8];
const [MIDDLE_FROM, MIDDLE_TO] = [0.42, 0.75];
/** Longer words at the ends leave no space for ticks on a phone. */
const WORDS_MAX = 12;

/** The height of a value in the chart. @param {number} value @param {number} top the highest value */
const tall = (value, top) => (top > 0 ? (value / top) * (HEIGHT - ABOVE) : 0);

/**
 * @typedef {object} ChartFrame
 * @property {string} title
 * @property {string} value of the point that is shown
 * @property {any} note beside the value
 * @property {string} when time of the point that is shown
 * @property {number} top the highest value
 * @property {(value: number) => string} [format] of values; without it, the values are whole numbers
 * @property {string} label description for screen readers
 * @property {[string, string]} axis words at the left and at the right end
 * @property {import('../lib/axis.js').Tick[]} ticks between the two ends
 * @property {number} count of points
 * @property {(index: number | null) => void} onPoint
 * @property {(index: number) => void} [onChoose] a click on a point
 * @property {{head: string[], rows: string[][]}} table all values
 */

/** @param {ChartFrame & {children?: any}} props */
export function ChartCard(props) {
  const { title, value, note, when, top, format, label, count, onPoint, onChoose, table, children } = props;
  const indexAt = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    return Math.min(count - 1, Math.max(0, Math.floor(part * count)));
  };
  const ticks = props.ticks.filter(({ at }) => at >= TICKS_FROM && at <= TICKS_TO);
  const middle = valueTick(top, !format);
  return html`
    <${Card} title=${title} actions=${html`<span class="muted small">${when}</span>`}>
      <p class="chart-read"><span class="stat-value">${value}</span><span class="muted small">${note}</span></p>
      <div class="chart">
        <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} height=${HEIGHT} preserveAspectRatio="none" role="img"
          aria-label=${label} onPointerMove=${(/** @type {any} */ event) => onPoint(indexAt(event))}
          onPointerLeave=${() => onPoint(null)} class=${onChoose ? 'chart-choice' : undefined}
          onClick=${onChoose && ((/** @type {any} */ event) => onChoose(indexAt(event)))}>
          <${Grid} rows=${middle === null ? [] : [tall(middle, top)]} columns=${ticks.map(({ at }) => at)} />
          ${children}
        </svg>
        <${Scale} values=${top > 0 ? [top, middle, 0] : []} top=${top} format=${format ?? formatNumber} />
        <${TimeAxis} ends=${props.axis} ticks=${ticks} />
      </div>
      <${Numbers} title=${title} table=${table} />
    </${Card}>
  `;
}

/** @param {{rows: number[], columns: number[]}} props heights of horizontal lines, and parts of the width */
function Grid({ rows, columns }) {
  return html`
    ${rows.map((row) => html`<line class="chart-grid" x1="0" x2=${WIDTH} y1=${HEIGHT - row} y2=${HEIGHT - row} />`)}
    ${columns.map(
      (at) =>
        html`<line class="chart-grid" x1=${round(at * WIDTH)} x2=${round(at * WIDTH)} y1=${ABOVE} y2=${HEIGHT} />`,
    )}
  `;
}

/** @param {{values: (number | null)[], top: number, format: (value: number) => string}} props */
function Scale({ values, top, format }) {
  const shown = values.filter((value) => value !== null);
  return html`
    <p class="chart-scale muted" aria-hidden="true">
      ${shown.map(
        (value) => html`
          <span style=${{ top: `${round(HEIGHT - tall(value, top))}px` }}>${value === 0 ? '0' : format(value)}</span>
        `,
      )}
    </p>
  `;
}

/** @param {{ends: ChartFrame['axis'], ticks: ChartFrame['ticks']}} props */
function TimeAxis({ ends, ticks }) {
  const isLong = ends.some((words) => words.length > WORDS_MAX);
  return html`
    <p class=${cx('chart-axis muted', isLong && 'chart-axis-long')} aria-hidden="true">
      <span>${ends[0]}</span>
      ${ticks.map(
        ({ at, label }) => html`
          <span class=${cx('chart-tick', (at < MIDDLE_FROM || at > MIDDLE_TO) && 'chart-tick-outer')}
            style=${{ left: `${round(at * 100)}%` }}>${label}</span>
        `,
      )}
      <span>${ends[1]}</span>
    </p>
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
  // A small number is still visible.
  const height = (/** @type {number} */ amount) => Math.max(2, tall(amount, top));
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
          <rect ...${box} class=${cx('bar', index === at && 'bar-on')} y=${round(HEIGHT - height(total))}
            height=${round(height(total))} />
          ${
            bad > 0 &&
            html`<rect ...${box} fill=${`url(#${id})`} y=${round(HEIGHT - height(bad))} height=${round(height(bad))} />`
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
  const y = (/** @type {number} */ value) => round(HEIGHT - tall(value, top));
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
