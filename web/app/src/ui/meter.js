/** A fill level, such as that of a queue. */
import { html } from '../lib/preact.js';

const WIDTH = 48;

/**
 * A bar with an accessible text.
 * @param {{value: number, max: number, label: string, percent?: boolean}} props `percent`: show a percentage
 *   instead of both numbers
 */
export function Meter({ value, max, label, percent = false }) {
  const part = max > 0 ? Math.min(value / max, 1) : 1;
  const tone = part >= 0.9 ? 'bad' : part >= 0.5 ? 'warn' : 'good';
  return html`
    <span class="meter" role="img" aria-label=${`${label}: ${value} of ${max}`}>
      <svg viewBox=${`0 0 ${WIDTH} 6`} width=${WIDTH} height="6" aria-hidden="true">
        <rect class="meter-track" width=${WIDTH} height="6" rx="3" />
        <rect class=${`meter-fill tone-${tone}`} width=${(part * WIDTH).toFixed(1)} height="6" rx="3" />
      </svg>
      <span class="mono small" aria-hidden="true">${percent ? `${Math.ceil(part * 100)} %` : `${value}/${max}`}</span>
    </span>
  `;
}
