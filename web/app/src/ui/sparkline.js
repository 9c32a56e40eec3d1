/** A chart for one row of a table: bars without axes, the numbers as text for screen readers and as a tooltip. */
import { html } from '../lib/preact.js';

const STEP = 4;
const HEIGHT = 20;

/**
 * The lower part of each bar, in another colour, shows the failures.
 * @param {{values: number[], bad: number[], label: string}} props
 */
export function Sparkline({ values, bad, label }) {
  const top = Math.max(1, ...values);
  const tall = (/** @type {number} */ value) => (value === 0 ? 0 : Math.max(2, (value / top) * (HEIGHT - 2)));
  const width = values.length * STEP;
  return html`
    <svg class="sparkline" viewBox=${`0 0 ${width} ${HEIGHT}`} width=${width} height=${HEIGHT} role="img"
      aria-label=${label}>
      <title>${label}</title>
      <line class="spark-floor" x1="0" x2=${width} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
      ${values.map((value, index) => {
        const box = { x: index * STEP, width: STEP - 1 };
        const [all, failed] = [tall(value), tall(bad[index] ?? 0)];
        return html`
          ${all > 0 && html`<rect ...${box} class="spark-bar" y=${HEIGHT - all} height=${all} />`}
          ${failed > 0 && html`<rect ...${box} class="spark-bad" y=${HEIGHT - failed} height=${failed} />`}
        `;
      })}
    </svg>
  `;
}
