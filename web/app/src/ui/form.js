import { useAction } from '../lib/action.js';
import { findField } from '../lib/form-errors.js';
import { cx, html, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { Button } from './button.js';
import { ErrorNotice, messageOf } from './error-notice.js';
import { FormContext } from './form-context.js';

/**
 * A form with one request at a time. An error is shown at the field that it is about, which gets the focus; an error
 * about no field is shown above the buttons.
 * @param {object} props
 * @param {() => Promise<any>} [props.onSubmit] throws the error to show
 * @param {{run: () => Promise<boolean>, busy: boolean, error: any}} [props.action] instead of `onSubmit`: an action
 *   that the page also starts in other ways
 * @param {any} props.submit the label of the button
 * @param {() => void} [props.onCancel]
 * @param {any} [props.more] buttons after the button of the form
 * @param {boolean} [props.disabled]
 * @param {boolean} [props.wideButton]
 * @param {boolean} [props.sticky] the buttons stay visible below a long form
 * @param {string} [props.icon] of the button
 * @param {'primary' | 'danger'} [props.kind]
 * @param {string} [props.class]
 * @param {any} [props.children]
 */
export function Form({
  onSubmit = async () => {},
  action,
  submit,
  onCancel,
  more,
  disabled,
  wideButton,
  sticky,
  icon,
  kind = 'primary',
  class: className,
  children,
}) {
  const own = useAction(onSubmit);
  const { run, busy, error } = action ?? own;
  const { ref, link, found, refused, onInput } = useRefusal(error);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!disabled) void run();
  };
  return html`
    <form class=${cx('form', className)} onSubmit=${send} onInput=${onInput} ref=${ref}>
      <${FormContext.Provider} value=${link}>${children}</${FormContext.Provider}>
      <div class=${cx(onCancel ? 'dialog-actions' : 'form-actions', sticky && 'save-line')}>
        ${
          refused &&
          html`
            <p class="form-problem">
              Not accepted:
              ${' '}<button type="button" class="text-button" onClick=${() => show(refused.id)}>
                ${refused.label || 'see above'}
              </button>
            </p>
          `
        }
        ${error && !found && html`<div class="form-problem" tabindex="-1"><${ErrorNotice} error=${error} /></div>`}
        ${onCancel && html`<${Button} onClick=${onCancel}>Cancel</${Button}>`}
        <${Button} type="submit" kind=${kind} icon=${icon} busy=${busy} disabled=${disabled}
          class=${wideButton ? 'button-wide' : ''}>
          ${submit}
        </${Button}>
        ${more}
      </div>
    </form>
  `;
}

/** The field that an error is about, marked until the user changes the field. @param {any} error */
function useRefusal(error) {
  const ref = useRef(/** @type {HTMLFormElement | null} */ (null));
  const fields = useRef(/** @type {Map<string, import('../lib/form-errors.js').FormField>} */ (new Map()));
  /** The error whose mark is gone. */
  const [answered, setAnswered] = useState(/** @type {any} */ (null));
  const register = useMemo(
    () => (/** @type {import('../lib/form-errors.js').FormField} */ field) => {
      fields.current.set(field.id, field);
      return () => void fields.current.delete(field.id);
    },
    [],
  );
  const found = useMemo(() => (error ? findField(error, inOrder(ref.current, fields.current)) : null), [error]);
  const refused = useMemo(
    () => (found && answered !== error ? { ...found, message: messageOf(error) } : null),
    [found, error, answered],
  );
  const link = useMemo(() => ({ register, refused }), [register, refused]);
  useEffect(() => {
    if (found) show(found.id);
    else if (error) focus(ref.current?.querySelector('.form-problem'), 'nearest');
  }, [error]);
  const onInput = (/** @type {Event} */ event) => {
    if (/** @type {HTMLElement} */ (event.target).id === found?.id) setAnswered(error);
  };
  return { ref, link, found, refused, onInput };
}

/**
 * The fields in the order of the form. A field that was hidden meanwhile is left out.
 * @param {HTMLFormElement | null} form
 * @param {Map<string, import('../lib/form-errors.js').FormField>} fields
 */
function inOrder(form, fields) {
  const ids = [...(form?.querySelectorAll('[id]') ?? [])].map((element) => element.id);
  return ids.flatMap((id) => fields.get(id) ?? []);
}

/** @param {string} id */
const show = (id) => focus(document.getElementById(id), 'center');

/** @param {Element | null | undefined} element @param {ScrollLogicalPosition} block */
function focus(element, block) {
  if (!(element instanceof HTMLElement)) return;
  element.scrollIntoView({ block });
  element.focus({ preventScroll: true });
}
