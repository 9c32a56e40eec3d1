import { cx, html, useEffect, useRef } from '../lib/preact.js';
import { Logo } from './icon.js';

/**
 * A page that is one card, without navigation.
 * @param {{title: any, wide?: boolean, next?: boolean, children?: any, foot?: any}} props `next`: the card replaces
 *   another one, so its heading takes the focus and a screen reader announces it
 */
export function BareCard({ title, wide, next = false, children, foot }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (next) heading.current?.focus();
  }, [next]);
  return html`
    <main class="bare">
      <div class=${cx('bare-card', wide && 'bare-wide')}>
        <${Logo} />
        <h1 ref=${heading} tabindex="-1">${title}</h1>
        ${children}
      </div>
      ${foot && html`<p class="bare-foot muted small">${foot}</p>`}
    </main>
  `;
}
