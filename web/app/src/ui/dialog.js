/**
 * Dialogs and drawers on the browser's own `<dialog>`: it traps the focus, makes the rest inert,
 * and closes with Escape. One is open as long as it is rendered.
 */

import { useAction } from '../lib/action.js';
import { cx, html, useEffect, useId, useRef, useState } from '../lib/preact.js';
import { Button, IconButton } from './button.js';
import { ErrorNotice } from './error-notice.js';
import { TextInput } from './field.js';

/**
 * @param {object} props
 * @param {any} props.title
 * @param {() => void} props.onClose
 * @param {any} [props.children]
 * @param {any} [props.footer]
 * @param {boolean} [props.wide]
 * @param {boolean} [props.locked] no way out but the buttons inside, for a secret shown once
 * @param {string} [props.class]
 */
export function Dialog({ title, onClose, children, footer, wide, locked, class: className }) {
  return html`
    <${Modal} class=${cx('dialog', wide && 'dialog-wide', className)} ...${{ title, onClose, footer, locked }}>
      ${children}
    </${Modal}>
  `;
}

/**
 * A dialog at the right edge, to look at something without leaving the list. A click beside it closes it.
 * @param {{title: any, onClose: () => void, children?: any, footer?: any, actions?: any}} props
 */
export function Drawer({ title, onClose, children, footer, actions }) {
  return html`<${Modal} class="drawer" dismissable ...${{ title, onClose, footer, actions }}>${children}</${Modal}>`;
}

/**
 * @param {{title: any, onClose: () => void, children?: any, footer?: any, actions?: any, class?: string, dismissable?:
 *   boolean, locked?: boolean}} props
 */
function Modal({ title, onClose, children, footer, actions, class: className, dismissable, locked }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    focusFirst(dialog);
    return () => {
      dialog?.close();
      // By now it has left the document, and then the browser gives no focus back.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const onCancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!locked) onClose();
  };
  // Chromium closes on a second Escape whatever `cancel` says.
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    if (!locked) onClose();
  };
  const onPress = (/** @type {MouseEvent} */ event) => dismissable && event.target === ref.current && onClose();
  return html`
    <dialog ref=${ref} class=${className} aria-labelledby=${id} onCancel=${onCancel} onKeyDown=${onKey}
      onMouseDown=${onPress}>
      <div class="dialog-inner">
        <header class="dialog-header">
          <h2 id=${id}>${title}</h2>
          ${actions}
          ${!locked && html`<${IconButton} icon="close" label="Close" onClick=${onClose} />`}
        </header>
        <div class="dialog-body">${children}</div>
        ${footer && html`<footer class="dialog-footer">${footer}</footer>`}
      </div>
    </dialog>
  `;
}

/**
 * On the first thing to fill in, where there is one; the browser would take the close button.
 * @param {HTMLDialogElement | null} dialog
 */
function focusFirst(dialog) {
  const fields = ':is(input, select, textarea):not([type="hidden"], [disabled], [readonly])';
  const field = dialog?.querySelector(`[autofocus]`) ?? dialog?.querySelector(`.dialog-body ${fields}`);
  if (field instanceof HTMLElement) field.focus();
}

/**
 * Asks before something that cannot be undone. With `typed`, its name has to be typed first.
 * @param {object} props
 * @param {any} props.title
 * @param {any} [props.children] what will happen
 * @param {string} props.action the word on the button
 * @param {() => Promise<any>} props.onConfirm an error stays in the dialog; else it closes
 * @param {() => void} props.onClose
 * @param {string} [props.typed]
 * @param {'danger' | 'primary'} [props.kind]
 */
export function ConfirmDialog({ title, children, action, onConfirm, onClose, typed, kind = 'danger' }) {
  const [text, setText] = useState('');
  const { run, busy, error } = useAction(onConfirm);
  const ready = !typed || text === typed;
  const confirm = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (ready && (await run())) onClose();
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form class="form" onSubmit=${confirm}>
        <div class="prose">${children}</div>
        ${
          typed &&
          html`
            <${TextInput} label=${html`Type <code>${typed}</code> to confirm`} value=${text} onInput=${setText} mono
              autocomplete="off" autofocus />
          `
        }
        <${ErrorNotice} error=${error} />
        <div class="dialog-actions">
          <${Button} onClick=${onClose}>Cancel</${Button}>
          <${Button} type="submit" kind=${kind} busy=${busy} disabled=${!ready}>${action}</${Button}>
        </div>
      </form>
    </${Dialog}>
  `;
}
