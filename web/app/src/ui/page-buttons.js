import { formatNumber } from '../lib/format.js';
import { html } from '../lib/preact.js';
import { Button } from './button.js';

/**
 * The buttons below one page of a list (`useCursorPages`); nothing if the list has one page.
 * @param {{pages: import('../lib/cursor-pages.js').CursorPages<any>, size: number, count: number}} props `size`: rows
 *   of a full page; `count`: rows of all pages
 */
export function PageButtons({ pages, size, count }) {
  if (pages.complete) return null;
  const last = Math.max(pages.number, Math.ceil(count / size));
  return html`
    <nav class="page-buttons" aria-label="Pages">
      <${Button} disabled=${!pages.previous} onClick=${() => pages.previous?.()}>Previous</${Button}>
      <span class="muted small" role="status">Page ${formatNumber(pages.number)} of ${formatNumber(last)}</span>
      <${Button} disabled=${!pages.next} busy=${pages.turning} onClick=${() => pages.next?.()}>Next</${Button}>
    </nav>
  `;
}
