/** A JSON editor, for schemas that no other field supports and for values that do not fit their field. */
import { parseExact, sameJson } from '../../lib/exact.js';
import { prettyJson } from '../../lib/json.js';
import { html, useContext, useEffect, useState } from '../../lib/preact.js';
import { Textarea } from '../../ui/field.js';
import { FormContext } from './form-context.js';
import { Hint } from './hint.js';

/** @param {import('./fields.js').FieldProps} props */
export function RawField({ name, path, shape, required, value, onChange, error }) {
  const { report } = useContext(FormContext);
  const [text, setText] = useState(() => textOf(value));
  const parsed = read(text);
  const problem = parsed.ok ? '' : parsed.message;

  // If the value was changed in the JSON view, the typed text is outdated.
  useEffect(() => {
    if (!parsed.ok || !sameJson(parsed.value, value)) setText(textOf(value));
  }, [textOf(value)]);
  useEffect(() => {
    report(path, problem && `${name}: ${problem}`);
    return () => report(path, '');
  }, [path, problem]);

  const change = (/** @type {string} */ next) => {
    setText(next);
    const found = read(next);
    if (found.ok && !sameJson(found.value, value)) onChange(found.value);
  };
  const rows = Math.min(Math.max(text.split('\n').length, 2), 10);
  return html`
    <${Textarea} label=${name} hint=${html`<${Hint} shape=${shape} required=${required} note="written as JSON" />`}
      error=${problem || error} mono rows=${rows} value=${text} onInput=${change} placeholder=${'JSON'}
      autocomplete="off" />
  `;
}

/** @param {any} value */
const textOf = (value) => (value === undefined ? '' : prettyJson(value));

/** An empty text means no value. @param {string} text @returns {import('../../lib/json.js').Parsed} */
const read = (text) => (text.trim() === '' ? { ok: true, value: undefined } : parseExact(text));
