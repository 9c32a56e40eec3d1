import { cx, html, useId, useLayoutEffect, useRef, useState } from '../lib/preact.js';
import { Icon } from './icon.js';

/**
 * @typedef {{label: any, icon?: string, href?: string, onClick?: () => void, danger?: boolean, checked?: boolean,
 *   toggles?: boolean} | 'line'} MenuItem `checked`: whether the item is the current choice; with `toggles`, whether it
 *   is on. The menu stays open after a toggle.
 */

/**
 * A button that opens a list of actions. Arrow keys move, Escape closes.
 * @param {object} props
 * @param {MenuItem[]} props.items
 * @param {string} props.label
 * @param {any} [props.children] content of the button; without it, three dots with the label
 * @param {boolean} [props.up] opens upwards
 * @param {string} [props.class]
 */
export function Menu({ items, label, children, up, class: className }) {
  const [open, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const id = useId();
  const close = () => {
    setOpen(false);
    /** @type {HTMLElement | null | undefined} */ (root.current?.querySelector('.menu-button'))?.focus();
  };

  // A layout effect, because a later effect could focus an item of a menu that was closed in the meantime, and the
  // focus would be lost with the list.
  useLayoutEffect(() => {
    if (!open) return undefined;
    entries(root.current)[0]?.focus();
    const outside = (/** @type {Event} */ event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);

  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (!open) return;
    if (event.key === 'Escape') {
      // Closing a menu must not close the dialog around it.
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (event.key === 'Tab') setOpen(false);
    else if (['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(event.key)) {
      event.preventDefault();
      move(root.current, event.key);
    }
  };

  return html`
    <div class=${cx('menu', className)} ref=${root} onKeyDown=${onKey}>
      <button type="button" class=${cx('menu-button', !children && 'icon-button')} aria-haspopup="menu"
        aria-expanded=${open} aria-controls=${open ? id : undefined} aria-label=${children ? undefined : label}
        onClick=${() => setOpen(!open)}>
        ${children ?? html`<${Icon} name="more" />`}
      </button>
      ${
        open &&
        html`
          <ul class=${cx('menu-list', up && 'menu-up')} role="menu" id=${id} aria-label=${label}>
            ${items.map((item, index) => html`<${Item} key=${index} item=${item} onDone=${close} />`)}
          </ul>
        `
      }
    </div>
  `;
}

/** @param {{item: MenuItem, onDone: () => void}} props */
function Item({ item, onDone }) {
  if (item === 'line') return html`<li role="separator" class="menu-line"></li>`;
  const { label, icon, href, onClick, danger, checked, toggles } = item;
  const role = checked === undefined ? 'menuitem' : toggles ? 'menuitemcheckbox' : 'menuitemradio';
  const choice = { role, 'aria-checked': checked };
  const content = html`
    ${icon && html`<${Icon} name=${icon} />`}
    <span class="grow">${label}</span>
    ${checked && html`<${Icon} name="check" />`}
  `;
  const act = () => {
    if (!toggles) onDone();
    onClick?.();
  };
  return html`
    <li role="none">
      ${
        href
          ? html`<a class="menu-item" tabindex="-1" href=${href} onClick=${onDone} ...${choice}>${content}</a>`
          : html`
            <button type="button" class=${cx('menu-item', danger && 'menu-danger')} tabindex="-1" onClick=${act}
              ...${choice}>
              ${content}
            </button>
          `
      }
    </li>
  `;
}

/** @param {HTMLElement | null} root @returns {HTMLElement[]} */
function entries(root) {
  return root ? [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('.menu-item'))] : [];
}

/** @param {HTMLElement | null} root @param {string} key */
function move(root, key) {
  const all = entries(root);
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to =
    { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[
      key
    ] ?? 0;
  all[to]?.focus();
}
