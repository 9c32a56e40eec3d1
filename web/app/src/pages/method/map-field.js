/** Free keys of an object: one row per key. */
import { plural } from '../../lib/format.js';
import { html, useContext, useState } from '../../lib/preact.js';
import { Button, IconButton } from '../../ui/button.js';
import { TextInput } from '../../ui/field.js';
import { Icon } from '../../ui/icon.js';
import { FormContext } from './form-context.js';
import { freeMembers, keyError, partOfKey } from './free-keys.js';
import { Group } from './group.js';
import { initialOf, itemValue, memberOf } from './schema.js';

/** Limit of rows shown; further members can be edited in the JSON only. */
const MOST_ROWS = 100;

/** An object without declared properties. @param {import('./fields.js').FieldProps} props */
export function MapField({ name, path, shape, required, value, onChange, error }) {
  const write = (/** @type {any} */ next) => onChange(Object.keys(next).length === 0 && !required ? undefined : next);
  return html`
    <${Group} name=${name} shape=${shape} required=${required} error=${error}>
      <${FreeKeys} name=${name} path=${path} schema=${shape.schema} value=${value} onChange=${write} />
    </${Group}>
  `;
}

/**
 * The rows of the free keys, and a field for a new key. Declared properties of the object stay as they are.
 * @param {{name: string, path: string, schema: import('./schema.js').Schema, value: any,
 *   onChange: (value: Record<string, any>) => void}} props
 */
export function FreeKeys({ name, path, schema, value, onChange }) {
  const { root, Field } = useContext(FormContext);
  const [key, setKey] = useState('');
  const members = freeMembers(schema, value);
  const wrong = key === '' ? '' : newKeyError(schema, key, value, root);
  const isFull = Object.keys(value ?? {}).length >= schema.maxProperties;
  const write = (/** @type {[string, any][]} */ next) => {
    const declared = Object.entries(value ?? {}).filter(([one]) => memberOf(schema, one) !== undefined);
    onChange(Object.fromEntries([...declared, ...next]));
  };
  const add = () => {
    write([...members, [key, initialOf(partOfKey(schema, key), root) ?? null]]);
    setKey('');
  };
  const replace = (/** @type {string} */ known, /** @type {any} */ next) =>
    write(members.map(([at, old]) => [at, at === known ? (next ?? null) : old]));
  const rows = members.slice(0, MOST_ROWS).map(([known, one]) => ({ known, one, part: partOfKey(schema, known) }));
  return html`
    ${rows.map(
      ({ known, one, part }) => html`
        <div class="schema-item" key=${known}>
          <div class="grow">
            <${Field} name=${known} path=${`${path}/${known}`} part=${part} required
              value=${itemValue(one, part, root)} onChange=${(/** @type {any} */ next) => replace(known, next)} />
            <${KeyError} message=${keyError(schema, known, root)} />
          </div>
          <${IconButton} icon="trash" label=${`Remove ${known} of ${name}`}
            onClick=${() => write(members.filter(([at]) => at !== known))} />
        </div>
      `,
    )}
    ${members.length > MOST_ROWS && html`<p class="hint">${members.length - MOST_ROWS} more are in the JSON.</p>`}
    <div class="schema-new-key">
      <${TextInput} label=${`New key of ${name}`} mono autocomplete="off" value=${key} onInput=${setKey}
        error=${wrong} hint=${isFull ? `At most ${plural(schema.maxProperties, 'key')}.` : ''} />
      <${Button} size="small" icon="plus" disabled=${key === '' || wrong !== '' || isFull} onClick=${add}>
        Add key
      </${Button}>
    </div>
  `;
}

/** @param {{message: string}} props */
function KeyError({ message }) {
  return message && html`<p class="field-error"><${Icon} name="alert" size=${14} /> Key: ${message}</p>`;
}

/**
 * Why a key cannot be added; '' if it can.
 * @param {import('./schema.js').Schema} schema
 * @param {string} key
 * @param {any} value
 * @param {import('./schema.js').Schema} root
 */
function newKeyError(schema, key, value, root) {
  if (memberOf(schema, key) !== undefined) return 'This key has a field of its own.';
  if (Object.hasOwn(value ?? {}, key)) return 'This key exists already.';
  return keyError(schema, key, root);
}
