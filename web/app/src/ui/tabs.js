import { html, useId, useLayoutEffect, useRef } from '../lib/preact.js';

/**
 * Tabs: arrow keys move between them, and only the selected one is in the tab order.
 * @param {object} props
 * @param {string} props.label
 * @param {{id: string, label: any, count?: number}[]} props.tabs
 * @param {string} props.value
 * @param {(id: string) => void} props.onChange
 * @param {any} props.children the selected panel
 */
export function Tabs({ label, tabs, value, onChange, children }) {
  const id = useId();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => showTab(list.current, value), [value]);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === value);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    onChange(next.id);
    /** @type {HTMLElement | null | undefined} */ (
      list.current?.querySelector(`[data-tab="${CSS.escape(next.id)}"]`)
    )?.focus();
  };
  return html`
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label=${label} ref=${list} onKeyDown=${onKey}>
        ${tabs.map(
          (tab) => html`
            <button key=${tab.id} type="button" class="tab" role="tab" id=${`${id}-${tab.id}`} data-tab=${tab.id}
              aria-selected=${tab.id === value} aria-controls=${`${id}-panel`} tabindex=${tab.id === value ? 0 : -1}
              onClick=${() => onChange(tab.id)}>
              ${tab.label}${tab.count !== undefined && html`<span class="tab-count">${tab.count}</span>`}
            </button>
          `,
        )}
      </div>
      <div class="tab-panel" role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${value}`}>${children}</div>
    </div>
  `;
}

/**
 * Scrolls only the row of tabs until the selected tab is visible.
 * @param {HTMLElement | null} list
 * @param {string} id
 */
function showTab(list, id) {
  const tab = /** @type {HTMLElement | null | undefined} */ (list?.querySelector(`[data-tab="${CSS.escape(id)}"]`));
  if (!list || !tab) return;
  const start = tab.offsetLeft - list.offsetLeft;
  if (start < list.scrollLeft || start + tab.offsetWidth > list.scrollLeft + list.clientWidth) {
    list.scrollLeft = start - (list.clientWidth - tab.offsetWidth) / 2;
  }
}
