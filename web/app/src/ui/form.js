import { useAction } from '../lib/action.js';
import { cx, html } from '../lib/preact.js';
import { Button } from './button.js';
import { ErrorNotice } from './error-notice.js';

/**
 * A form with one request at a time, which shows the server's error above its buttons.
 * @param {object} props
 * @param {() => Promise<any>} props.onSubmit throws the error to show
 * @param {any} props.submit the label of the button
 * @param {() => void} [props.onCancel]
 * @param {any} [props.more] buttons after the button of the form
 * @param {boolean} [props.disabled]
 * @param {boolean} [props.wideButton]
 * @param {'primary' | 'danger'} [props.kind]
 * @param {string} [props.class]
 * @param {any} [props.children]
 */
export function Form({
  onSubmit,
  submit,
  onCancel,
  more,
  disabled,
  wideButton,
  kind = 'primary',
  class: className,
  children,
}) {
  const { run, busy, error } = useAction(onSubmit);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!disabled) void run();
  };
  return html`
    <form class=${cx('form', className)} onSubmit=${send}>
      ${children}
      <${ErrorNotice} error=${error} />
      <div class=${onCancel ? 'dialog-actions' : 'form-actions'}>
        ${onCancel && html`<${Button} onClick=${onCancel}>Cancel</${Button}>`}
        <${Button} type="submit" kind=${kind} busy=${busy} disabled=${disabled}
          class=${wideButton ? 'button-wide' : ''}>
          ${submit}
        </${Button}>
        ${more}
      </div>
    </form>
  `;
}
