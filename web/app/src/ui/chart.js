/** Small charts. What they show is also said in words, for who cannot see them. */
import { formatNumber } from '../lib/format.js';
import { html } from '../lib/preact.js';

const WIDTH = 240;

/**
 * @param {object} props
 * @param {number[]} props.values oldest first
 * @param {string} props.label
 * @param {(value: number) => string} [props.format]
 * @param {number} [props.height]
 */
export function Sparkline({ values, label, format = formatNumber, height = 40 }) {
  const top = Math.max(...values, 0) || 1;
  const step = values.length > 1 ? WIDTH / (values.length - 1) : WIDTH;
  const points = values.map((value, index) => `${round(index * step)},${round(height - 2 - (value / top) * (height - 4))}`);
  return html`
    <svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${height}`} height=${height} preserveAspectRatio="none" role="img" aria-label=${summary(values, label, format)}>
      ${points.length > 1 && html`<path class="spark-area" d=${`M0,${height} L${points.join(' L')} L${WIDTH},${height} Z`} />
      <polyline class="spark-line" points=${points.join(' ')} fill="none" vector-effect="non-scaling-stroke" />`}
    </svg>
  `;
}

/**
 * @param {object} props
 * @param {{value: number, label: string, bad?: number}[]} props.bars oldest first; `bad` is the part of the value to mark
 * @param {string} props.label
 * @param {(value: number) => string} [props.format]
 * @param {number} [props.height]
 */
export function BarChart({ bars, label, format = formatNumber, height = 64 }) {
  const top = Math.max(...bars.map((bar) => bar.value), 0) || 1;
  const step = WIDTH / Math.max(bars.length, 1);
  const tall = (/** @type {number} */ value) => round(value === 0 ? 1 : Math.max(2, (value / top) * (height - 2)));
  return html`
    <svg class="bar-chart" viewBox=${`0 0 ${WIDTH} ${height}`} height=${height} preserveAspectRatio="none" role="img" aria-label=${summary(bars.map((bar) => bar.value), label, format)}>
      ${bars.map((bar, index) => html`
        <g key=${index}>
          <title>${`${bar.label}: ${format(bar.value)}`}</title>
          <rect class="bar-hit" x=${round(index * step)} y="0" width=${round(step)} height=${height} />
          <rect class=${bar.value === 0 ? 'bar bar-zero' : 'bar'} x=${round(index * step + step * 0.12)} y=${height - tall(bar.value)} width=${round(step * 0.76)} height=${tall(bar.value)} />
          ${bar.bad ? html`<rect class="bar bar-bad" x=${round(index * step + step * 0.12)} y=${height - tall(bar.bad)} width=${round(step * 0.76)} height=${tall(bar.bad)} />` : null}
        </g>`)}
    </svg>
  `;
}

/** How full something is, for instance a queue: x of y. @param {{value: number, max: number, label: string}} props */
export function Meter({ value, max, label }) {
  const part = Math.min(value / max, 1);
  const tone = part >= 0.9 ? 'bad' : part >= 0.5 ? 'warn' : 'good';
  return html`
    <span class="meter" role="img" aria-label=${`${label}: ${value} of ${max}`}>
      <svg viewBox="0 0 48 6" width="48" height="6" aria-hidden="true"><rect class="meter-track" width="48" height="6" rx="3" /><rect class=${`meter-fill tone-${tone}`} width=${round(part * 48)} height="6" rx="3" /></svg>
      <span class="mono small" aria-hidden="true">${value}/${max}</span>
    </span>
  `;
}

/** @param {number[]} values @param {string} label @param {(value: number) => string} format */
function summary(values, label, format) {
  if (values.length === 0) return `${label}: no values yet`;
  return `${label}: now ${format(values[values.length - 1])}, lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}`;
}

/** @param {number} value */
const round = (value) => Math.round(value * 100) / 100;
