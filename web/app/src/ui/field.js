/** Inputs with label, hint and error, connected for screen readers. */
import { cx, html, useContext, useEffect, useId } from '../lib/preact.js';
import { FormContext } from './form-context.js';
import { Icon } from './icon.js';
import { withCode } from './rich-text.js';

/**
 * @typedef {object} Labelled
 * @property {any} label
 * @property {boolean} [hideLabel] shows the label to screen readers only
 * @property {any} [hint]
 * @property {any} [error]
 * @property {string} [name] the member of the API, if it is not the label: an error that names it belongs to this field
 * @property {boolean} [optional] adds "optional" to the label
 * @property {string} [class]
 */
/** @typedef {{id: string, 'aria-describedby': string | undefined, 'aria-invalid': boolean | undefined}} Wiring */

/**
 * The frame of an input; `children` is a function that takes the attributes of the input.
 * @param {Labelled & {children: (wiring: Wiring) => any}} props
 */
export function Field({ label, hideLabel, hint, error: own, optional, name, class: className, children }) {
  const id = useId();
  const form = useContext(FormContext);
  const text = typeof label === 'string' ? label : '';
  useEffect(() => form?.register({ id, label: text, name }), [form?.register, id, text, name]);
  const refused = form?.refused?.id === id ? withCode(form.refused.message) : null;
  const error = own || refused;
  const described = cx(hint && `${id}-hint`, error && `${id}-error`) || undefined;
  return html`
    <div class=${cx('field', error && 'field-invalid', className)}>
      <label class=${hideLabel ? 'visually-hidden' : 'label'} for=${id}>
        ${label}${optional && html` <span class="label-optional">optional</span>`}
      </label>
      ${children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
      ${
        error &&
        html`
          <p class="field-error" id=${`${id}-error`} role=${refused ? 'alert' : undefined}>
            <${Icon} name="alert" size=${14} /> ${error}
          </p>
        `
      }
    </div>
  `;
}

/**
 * Separates the props of `Field` from the other props of an input.
 * @template {Labelled} P
 * @param {P} props
 */
function splitProps({ label, hideLabel, hint, error, optional, name, class: className, ...rest }) {
  return { field: { label, hideLabel, hint, error, optional, name, class: className }, ...rest };
}

/**
 * @typedef {object} Input
 * @property {string | number | undefined} value
 * @property {(value: string) => void} onInput takes the text, not the event
 * @property {boolean} [mono]
 */

/** @param {Labelled & Input & {[attribute: string]: any}} props */
export function TextInput(props) {
  const { field, value, onInput, mono, type = 'text', ...rest } = splitProps(props);
  return html`
    <${Field} ...${field}>
      ${(/** @type {Wiring} */ wiring) => html`
        <input class=${cx('input', mono && 'mono')} type=${type} value=${value ?? ''}
          onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)}
          ...${mono ? { spellcheck: false, autocapitalize: 'off' } : {}} ...${wiring} ...${rest} />
      `}
    </${Field}>
  `;
}

/** @param {Labelled & Input & {[attribute: string]: any}} props */
export function Textarea(props) {
  const { field, value, onInput, mono, rows = 4, ...rest } = splitProps(props);
  return html`
    <${Field} ...${field}>
      ${(/** @type {Wiring} */ wiring) => html`
        <textarea class=${cx('input', mono && 'mono')} rows=${rows} value=${value ?? ''} spellcheck=${!mono}
          onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)} ...${wiring} ...${rest} />
      `}
    </${Field}>
  `;
}

/**
 * @param {Labelled & {value: string, onInput: (value: string) => void, options: (string | {value: string, label:
 *   string, disabled?: boolean})[], [attribute: string]: any}} props
 */
export function Select(props) {
  const { field, value, onInput, options, ...rest } = splitProps(props);
  const all = /** @type {typeof props.options} */ (options);
  const rows = all.map((option) => (typeof option === 'string' ? { value: option, label: option } : option));
  return html`
    <${Field} ...${field}>
      ${(/** @type {Wiring} */ wiring) => html`
        <span class="select">
          <select class="input" value=${value}
            onChange=${(/** @type {any} */ event) => onInput(event.currentTarget.value)} ...${wiring} ...${rest}>
            ${rows.map(
              (row) =>
                html`
                  <option key=${row.value} value=${row.value} disabled=${/** @type {any} */ (row).disabled}
                    selected=${row.value === value}>
                    ${row.label}
                  </option>
                `,
            )}
          </select>
          <${Icon} name="chevron-down" size=${14} />
        </span>
      `}
    </${Field}>
  `;
}

/**
 * @param {{label: any, checked: boolean, onChange: (checked: boolean) => void, hint?: any, disabled?: boolean, class?:
 *   string, [attribute: string]: any}} props
 */
export function Checkbox({ label, checked, onChange, hint, disabled, class: className, ...rest }) {
  const id = useId();
  return html`
    <div class=${cx('check', disabled && 'check-disabled', className)}>
      <input id=${id} type="checkbox" checked=${checked} disabled=${disabled}
        aria-describedby=${hint ? `${id}-hint` : undefined}
        onChange=${(/** @type {any} */ event) => onChange(event.currentTarget.checked)} ...${rest} />
      <label for=${id}>${label}</label>
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    </div>
  `;
}

/**
 * A row of radio buttons.
 * @param {{label: string, hideLabel?: boolean, value: string, onInput: (value: string) => void, options: (string |
 *   {value: string, label: any})[], class?: string}} props
 */
export function Segmented({ label, hideLabel = true, value, onInput, options, class: className }) {
  const name = useId();
  return html`
    <fieldset class=${cx('segmented', className)}>
      <legend class=${hideLabel ? 'visually-hidden' : 'label'}>${label}</legend>
      <div class="segments">
        ${options.map((option) => {
          const row = typeof option === 'string' ? { value: option, label: option } : option;
          return html`
            <label key=${row.value} class="segment">
              <input type="radio" name=${name} value=${row.value} checked=${row.value === value}
                onChange=${() => onInput(row.value)} />
              <span>${row.label}</span>
            </label>
          `;
        })}
      </div>
    </fieldset>
  `;
}
