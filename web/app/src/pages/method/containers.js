/** Fields that contain other fields. An absent object or list is shown as a button, so that a recursive form ends. */
import { html, useContext } from '../../lib/preact.js';
import { Button, IconButton } from '../../ui/button.js';
import { inlineMarkdown } from '../../ui/markdown.js';
import { FormContext } from './form-context.js';
import { freeMembers } from './free-keys.js';
import { Group } from './group.js';
import { FreeKeys } from './map-field.js';
import { freeParts, initialOf, itemSchema, itemValue, propertiesOf } from './schema.js';

/** @typedef {import('./fields.js').FieldProps} Props */

/** @param {Props & {isNull?: boolean}} props */
export function ObjectField({ name, path, shape, required, value, onChange, error, isNull }) {
  const { root } = useContext(FormContext);
  if (value === undefined) {
    const first = () => onChange(initialOf({ ...shape.schema, default: undefined }, root) ?? {});
    return html`
      <${AddButton} name=${name} shape=${shape} required=${required} error=${error} disabled=${isNull} onAdd=${first} />
    `;
  }
  return html`
    <${Group} name=${name} shape=${shape} required=${required} error=${error}
      onRemove=${required ? undefined : () => onChange(undefined)}>
      <${Members} name=${name} path=${path} schema=${shape.schema} value=${value} onChange=${onChange} />
    </${Group}>
  `;
}

/** The maximum number of fields shown. Further fields can be edited only in the JSON. */
const MOST_FIELDS = 200;

/**
 * The fields of an object, required ones first, and its free keys.
 * @param {{name: string, path: string, schema: import('./schema.js').Schema, value: any,
 *   onChange: (value: any) => void}} props
 */
export function Members({ name, path, schema, value, onChange }) {
  const { Field } = useContext(FormContext);
  const rows = propertiesOf(schema);
  const isFree = freeParts(schema).length > 0;
  const others = isFree ? [] : freeMembers(schema, value).map(([key]) => key);
  return html`
    ${rows.slice(0, MOST_FIELDS).map(
      ([key, part, required]) => html`
        <${Field} key=${key} name=${key} path=${`${path}/${key}`} part=${part} required=${required}
          value=${value && Object.hasOwn(value, key) ? value[key] : undefined}
          onChange=${(/** @type {any} */ next) => onChange(withMember(value, key, next, rows))} />
      `,
    )}
    ${
      rows.length > MOST_FIELDS &&
      html`<p class="hint">${rows.length - MOST_FIELDS} more are not shown: write them into the JSON.</p>`
    }
    ${
      others.length > 0 &&
      html`
        <p class="hint">
          Also in the JSON: <span class="mono anywhere">${others.slice(0, 20).join(', ')}</span>
          ${schema.additionalProperties === false && ', which the schema does not know'}.
        </p>
      `
    }
    ${isFree && html`<${FreeKeys} name=${name} path=${path} schema=${schema} value=${value} onChange=${onChange} />`}
  `;
}

/**
 * The object with one member changed. Members have the order of the fields of the form; members that are not in the
 * schema come last.
 * @param {any} value
 * @param {string} name
 * @param {any} next
 * @param {[string, any, boolean][]} rows
 */
function withMember(value, name, next, rows) {
  const members = new Map(Object.entries(value ?? {}));
  if (next === undefined) members.delete(name);
  else members.set(name, next);
  const names = [...new Set([...rows.map(([known]) => known), ...members.keys()])];
  return Object.fromEntries(names.filter((one) => members.has(one)).map((one) => [one, members.get(one)]));
}

/** The maximum number of items shown. Further items can be edited only in the JSON. */
const MOST_ITEMS = 100;

/** @param {Props & {isNull?: boolean}} props */
export function ArrayField({ name, path, shape, required, value, onChange, error, isNull }) {
  const { root, Field } = useContext(FormContext);
  const { schema } = shape;
  const items = value ?? [];
  const add = () => onChange([...items, initialOf(itemSchema(schema, items.length), root) ?? null]);
  if (value === undefined)
    return html`
      <${AddButton} name=${name} shape=${shape} required=${required} error=${error} disabled=${isNull}
        onAdd=${() => (schema.minItems > 0 ? onChange(initialOf({ ...schema, default: undefined }, root)) : add())} />
    `;
  const replace = (/** @type {number} */ index, /** @type {any} */ next) =>
    onChange(items.map((/** @type {any} */ old, /** @type {number} */ at) => (at === index ? (next ?? null) : old)));
  return html`
    <${Group} name=${name} shape=${shape} required=${required} error=${error}
      onRemove=${required ? undefined : () => onChange(undefined)}>
      ${items.slice(0, MOST_ITEMS).map(
        (/** @type {any} */ item, /** @type {number} */ index) => html`
          <div class="schema-item" key=${index}>
            <div class="grow">
              <${Field} name=${`${name} ${index + 1}`} path=${`${path}/${index}`}
                part=${itemSchema(schema, index)} required value=${itemValue(item, itemSchema(schema, index), root)}
                onChange=${(/** @type {any} */ next) => replace(index, next)} />
            </div>
            <${IconButton} icon="trash" label=${`Remove ${name} ${index + 1}`}
              onClick=${() =>
                onChange(items.filter((/** @type {any} */ _, /** @type {number} */ at) => at !== index))} />
          </div>
        `,
      )}
      ${items.length > MOST_ITEMS && html`<p class="hint">${items.length - MOST_ITEMS} more are in the JSON.</p>`}
      <div>
        <${Button} size="small" icon="plus" disabled=${items.length >= schema.maxItems} onClick=${add}>
          Add to ${name}
        </${Button}>
      </div>
    </${Group}>
  `;
}

/**
 * @param {{name: string, shape: import('./schema.js').Shape, required: boolean, error: string, disabled?: boolean,
 *   onAdd: () => void}} props
 */
function AddButton({ name, shape, required, error, disabled, onAdd }) {
  const text = shape.schema.description;
  return html`
    <div class="schema-absent">
      <${Button} size="small" icon="plus" disabled=${disabled} onClick=${onAdd}>
        Add <span class="mono">${name}</span>
      </${Button}>
      <span class="hint">
        ${required ? 'required' : 'optional'} ${shape.kind}
        ${typeof text === 'string' && html`. ${inlineMarkdown(text)}`}
      </span>
      ${error && html`<span class="field-error">${error}</span>`}
    </div>
  `;
}
