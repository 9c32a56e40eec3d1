/**
 * Dialogs and drawers on the browser's own `<dialog>`: it traps the focus, makes the rest of the page
 * inert, and closes with Escape. A dialog is open while it is rendered.
 */

import { cx, html, useEffect, useId, useRef, useState } from '../lib/preact.js';
import { IconButton } from './button.js';
import { TextInput } from './field.js';
import { Form } from './form.js';

/**
 * @param {object} props
 * @param {any} props.title
 * @param {() => void} props.onClose
 * @param {any} [props.children]
 * @param {any} [props.footer]
 * @param {boolean} [props.wide]
 * @param {boolean} [props.locked] closes only by the buttons inside, for a secret shown once
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
 * A dialog at the right edge that shows an item of a list. A click outside closes it.
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
      // The dialog has already left the document, so the browser does not restore the focus.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const onCancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!locked) onClose();
  };
  // Chromium closes on a second Escape even if `cancel` was prevented.
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
 * Focuses the element with `autofocus`, or else the first input. The browser would focus the close button.
 * @param {HTMLDialogElement | null} dialog
 */
function focusFirst(dialog) {
  const fields = ':is(input, select, textarea):not([type="hidden"], [disabled], [readonly])';
  const field = dialog?.querySelector(`[autofocus]`) ?? dialog?.querySelector(`.dialog-body ${fields}`);
  if (field instanceof HTMLElement) field.focus();
}

/**
 * Asks the user to confirm an action. With `typed`, the user must type this name.
 * @param {object} props
 * @param {any} props.title
 * @param {any} [props.children] describes the consequences
 * @param {string} props.action the label of the button
 * @param {() => Promise<any>} props.onConfirm on an error the dialog stays open and shows it
 * @param {() => void} props.onClose
 * @param {string} [props.typed]
 * @param {'danger' | 'primary'} [props.kind]
 */
export function ConfirmDialog({ title, children, action, onConfirm, onClose, typed, kind = 'danger' }) {
  const [text, setText] = useState('');
  const confirm = async () => {
    await onConfirm();
    onClose();
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <${Form} submit=${action} kind=${kind} disabled=${Boolean(typed) && text !== typed} onSubmit=${confirm}
        onCancel=${onClose}>
        <div class="prose">${children}</div>
        ${
          typed &&
          html`
            <${TextInput} label=${html`Type <code>${typed}</code> to confirm`} value=${text} onInput=${setText} mono
              autocomplete="off" autofocus />
          `
        }
      </${Form}>
    </${Dialog}>
  `;
}
