import { exactTime, relativeTime } from '../lib/format.js';
import { html } from '../lib/preact.js';

/**
 * "3 min ago", with the exact time as its title. `none` is shown if there is no `value`. With `exact`, the text is the
 * exact time too.
 * @param {{value: string | null | undefined, none?: any, exact?: boolean}} props
 */
export function Time({ value, none = '–', exact = false }) {
  if (!value) return html`<span class="muted">${none}</span>`;
  return html`
    <time datetime=${value} title=${`${exactTime(value)} (${value})`}>
      ${exact ? exactTime(value) : relativeTime(value)}
    </time>
  `;
}
