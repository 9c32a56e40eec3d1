/** Fields for single values. */
import { numberText, sameJson, typedNumber } from '../../lib/exact.js';
import { localTime, utcTime } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Checkbox, Select, Textarea, TextInput } from '../../ui/field.js';
import { formatError, localTimeOfDay, utcTimeOfDay } from './formats.js';
import { exampleOf, Hint } from './hint.js';

/** @typedef {import('./fields.js').FieldProps & {isNull?: boolean}} Props */

/** @param {Props} props */
const hintOf = ({ shape, required }) => html`<${Hint} shape=${shape} required=${required} />`;

/** A text that may have more characters than this gets a field of several lines. */
const LONG = 160;

/** @param {Props} props */
export function StringField(props) {
  const { name, shape, required, value, onChange, error, isNull } = props;
  const { schema } = shape;
  // Clearing an optional text removes it; a required text becomes the empty text.
  const change = (/** @type {string} */ text) => onChange(text === '' && !required ? undefined : text);
  // A single-line input would drop line breaks of the value.
  const several = schema.maxLength > LONG || /\n/.test(value ?? '') || typeof schema.contentMediaType === 'string';
  const common = {
    label: name,
    hint: hintOf(props),
    error,
    value,
    onInput: change,
    placeholder: exampleOf(schema),
    disabled: isNull,
    'aria-required': required,
  };
  if (schema.writeOnly === true || schema.format === 'password')
    return html`<${TextInput} ...${common} type="password" autocomplete="new-password" />`;
  if (schema.format === 'date' && isDate(value)) return html`<${TextInput} ...${common} type="date" />`;
  if (schema.format === 'date-time' && isTime(value))
    return html`
      <${TextInput} ...${common} type="datetime-local" step="1" value=${value ? localTime(value, 'seconds') : ''}
        onInput=${(/** @type {string} */ text) => change(utcTime(text) ?? '')} />
    `;
  if (schema.format === 'time' && (!value || localTimeOfDay(value)))
    return html`
      <${TextInput} ...${common} type="time" step="1" value=${localTimeOfDay(value ?? '')}
        onInput=${(/** @type {string} */ text) => change(utcTimeOfDay(text))} />
    `;
  return several
    ? html`<${Textarea} ...${common} rows=${4} />`
    : html`<${TextInput} ...${common} autocomplete="off" />`;
}

/** Whether a date picker can show the text. Any other text is shown as it is. @param {string | undefined} text */
const isDate = (text) => !text || formatError('date', text) === '';
/** @param {string | undefined} text */
const isTime = (text) => !text || formatError('date-time', text) === '';

/** @param {Props} props */
export function NumberField(props) {
  const { name, shape, required, value, onChange, error, isNull } = props;
  const change = (/** @type {string} */ text) => onChange(text.trim() === '' ? undefined : typedNumber(text.trim()));
  return html`
    <${TextInput} label=${name} hint=${hintOf(props)} error=${error} mono
      value=${value === undefined ? '' : numberText(value)} onInput=${change}
      inputmode=${shape.kind === 'integer' ? 'numeric' : 'decimal'} autocomplete="off"
      placeholder=${exampleOf(shape.schema)} disabled=${isNull} aria-required=${required} />
  `;
}

/** @param {Props} props */
export function BooleanField(props) {
  const { name, shape, required, value, onChange, isNull } = props;
  const usual = typeof shape.schema.default === 'boolean';
  if (required || usual) {
    const note = value === undefined && !isNull ? 'not set' : undefined;
    return html`
      <${Checkbox} label=${name} checked=${value === true} onChange=${onChange} disabled=${isNull}
        hint=${html`<${Hint} shape=${shape} required=${required} note=${note} />`} class="schema-check" />
    `;
  }
  const options = [
    { value: '', label: 'not set' },
    { value: 'true', label: 'true' },
    { value: 'false', label: 'false' },
  ];
  return html`
    <${Select} label=${name} hint=${hintOf(props)} options=${options} value=${value === undefined ? '' : String(value)}
      disabled=${isNull}
      onInput=${(/** @type {string} */ text) => onChange(text === '' ? undefined : text === 'true')} />
  `;
}

/** One of several values of any kind. @param {Props} props */
export function ChoiceField(props) {
  const { name, shape, required, value, onChange, error, isNull } = props;
  const choices = shape.schema.enum.slice(0, 1_000);
  // Options are identified by index: values may have any type, and two may look alike.
  const options = choices.map((/** @type {any} */ choice, /** @type {number} */ index) => ({
    value: String(index),
    label: typeof choice === 'string' ? choice || '""' : JSON.stringify(choice),
  }));
  const at = choices.findIndex((/** @type {any} */ choice) => sameJson(choice, value));
  if (value === undefined || !required) options.unshift({ value: '', label: 'not set' });
  if (value !== undefined && at < 0)
    options.unshift({ value: 'other', label: `${JSON.stringify(value)} (not allowed)` });
  const chosen = value === undefined ? '' : at < 0 ? 'other' : String(at);
  const change = (/** @type {string} */ index) => {
    if (index !== 'other') onChange(index === '' ? undefined : choices[Number(index)]);
  };
  return html`
    <${Select} label=${name} hint=${hintOf(props)} error=${error} options=${options} value=${chosen} onInput=${change}
      disabled=${isNull} aria-required=${required} />
  `;
}
