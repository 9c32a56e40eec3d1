import { html, signal, useEffect, useRef } from '../lib/preact.js';
import { IconButton } from './button.js';
import { Icon } from './icon.js';

/** @typedef {{id: number, text: string, kind: 'good' | 'error'}} Toast */

const STAYS_MS = 5_000;
/** @type {import('../lib/preact.js').Signal<Toast[]>} */
const toasts = signal(/** @type {Toast[]} */ ([]));
let last = 0;

/**
 * Reports a completed action. Show an error next to its control, and in a toast only if it has no control.
 * @param {string} text
 * @param {{kind?: 'good' | 'error'}} [options]
 */
export function toast(text, { kind = 'good' } = {}) {
  last += 1;
  const id = last;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind }];
  setTimeout(() => close(id), STAYS_MS);
}

/** @param {number} id */
function close(id) {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const newest = toasts.value.at(-1)?.id;
  // The popover opened last is on top, so opening it again for each toast lifts it above an open dialog.
  useEffect(() => {
    if (ref.current?.matches(':popover-open')) ref.current.hidePopover();
    ref.current?.showPopover();
  }, [newest]);
  return html`
    <div class="toasts" role="status" aria-live="polite" popover="manual" ref=${ref}>
      ${toasts.value.map(
        (one) => html`
          <div key=${one.id} class=${`toast toast-${one.kind}`}>
            <${Icon} name=${one.kind === 'good' ? 'check' : 'alert'} /><p class="grow">${one.text}</p>
            <${IconButton} icon="close" label="Dismiss" size="small" onClick=${() => close(one.id)} />
          </div>
        `,
      )}
    </div>
  `;
}
