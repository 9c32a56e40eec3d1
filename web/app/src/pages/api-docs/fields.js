/** The members of a JSON Schema, as a list that opens level by level. */
import { html, useState } from '../../lib/preact.js';
import { withCode } from '../../ui/rich-text.js';

/** @param {any} schema @param {any} schemas */
function resolve(schema, schemas) {
  return schema?.$ref ? schemas[schema.$ref.split('/').pop()] : schema;
}

/** The alternatives of a schema, without null. @param {any} schema @param {any} schemas @returns {any[]} */
function choices(schema, schemas) {
  const resolved = resolve(schema, schemas);
  const all = resolved?.anyOf ?? resolved?.oneOf ?? [resolved];
  return all.filter((/** @type {any} */ choice) => choice?.type !== 'null');
}

/** The type of a value in a few words. @param {any} schema @param {any} schemas @returns {string} */
export function typeOf(schema, schemas) {
  const words = choices(schema, schemas).map((choice) => wordOf(resolve(choice, schemas), schemas));
  const nullable = [resolve(schema, schemas)?.type].flat().includes('null') || hasNull(resolve(schema, schemas));
  return [...new Set(words), ...(nullable ? ['null'] : [])].join(' or ');
}

/** @param {any} schema */
function hasNull(schema) {
  return (schema?.anyOf ?? schema?.oneOf ?? []).some((/** @type {any} */ choice) => choice.type === 'null');
}

/** @param {any} schema @param {any} schemas @returns {string} */
function wordOf(schema, schemas) {
  if (!schema || schema === true) return 'any value';
  if (schema.enum) return schema.enum.map((/** @type {any} */ value) => JSON.stringify(value)).join(', ');
  if ('const' in schema) return JSON.stringify(schema.const);
  const type = [schema.type].flat().filter((name) => name !== 'null')[0];
  if (type === 'array') return `array of ${typeOf(schema.items ?? true, schemas)}`;
  if (type === 'string') return [schema.format ?? 'string', lengthOf(schema)].filter(Boolean).join(', ');
  if (type === 'integer' || type === 'number') return [type, rangeOf(schema)].filter(Boolean).join(', ');
  return type ?? 'any value';
}

/** @param {any} schema */
function lengthOf({ minLength = 0, maxLength }) {
  return maxLength === undefined ? '' : `${minLength} to ${maxLength} characters`;
}

/** @param {any} schema */
function rangeOf({ minimum, maximum }) {
  if (maximum !== undefined) return `${minimum ?? 0} to ${maximum}`;
  return minimum === undefined ? '' : `at least ${minimum}`;
}

/** @param {{schema: any, schemas: any}} props */
export function Fields({ schema, schemas }) {
  const members = choices(schema, schemas).flatMap((choice) => membersOf(choice, schemas));
  if (members.length === 0) return html`<p class="muted small">${typeOf(schema, schemas)}</p>`;
  return html`
    <ul class="api-fields">
      ${members.map((member, index) => html`<${Field} key=${index} ...${member} schemas=${schemas} />`)}
    </ul>
  `;
}

/** @param {any} schema @param {any} schemas @returns {{name: string, schema: any, required: boolean}[]} */
function membersOf(schema, schemas) {
  const resolved = resolve(schema, schemas);
  if (resolved?.items) return choices(resolved.items, schemas).flatMap((choice) => membersOf(choice, schemas));
  return Object.entries(resolved?.properties ?? {}).map(([name, member]) => ({
    name,
    schema: member,
    required: resolved.required?.includes(name) ?? false,
  }));
}

/** @param {{name: string, schema: any, required: boolean, schemas: any}} props */
function Field({ name, schema, required, schemas }) {
  const [open, setOpen] = useState(false);
  const nested = choices(schema, schemas).some((choice) => membersOf(choice, schemas).length > 0);
  const description = schema?.description ?? resolve(schema, schemas)?.description;
  return html`
    <li>
      <code>${name}</code>
      <span class="muted small">${typeOf(schema, schemas)}${required ? '' : ', optional'}</span>
      ${description && html`<span class="small">${withCode(description)}</span>`}
      ${
        nested &&
        html`
          <button type="button" class="api-more small" aria-expanded=${open} onClick=${() => setOpen(!open)}>
            ${open ? 'Hide' : 'Show'} members<span class="visually-hidden"> of ${name}</span>
          </button>
        `
      }
      ${open && html`<${Fields} schema=${schema} schemas=${schemas} />`}
    </li>
  `;
}
