/** A readable schema: a collapsible list of names, types, limits and descriptions. */
import { html, useState } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { Segmented } from '../../ui/field.js';
import { JsonView } from '../../ui/json-view.js';
import { inlineMarkdown } from '../../ui/markdown.js';
import { defaultText, limitsOf, typeText } from './check.js';
import { itemSchema, propertiesOf, resolve, shapeOf } from './schema.js';

/** @param {{title: string, schema: any, none: string}} props */
export function SchemaCard({ title, schema, none }) {
  const [form, setForm] = useState('outline');
  if (!schema) return html`<${Card} title=${title}><p class="muted">${none}</p></${Card}>`;
  const choice = html`
    <${Segmented} label=${`Form of ${title}`} value=${form} onInput=${setForm}
      options=${[{ value: 'outline', label: 'Outline' }, { value: 'json', label: 'JSON' }]} />
  `;
  return html`
    <${Card} title=${title} actions=${choice}>
      ${
        form === 'json'
          ? html`<${JsonView} value=${schema} label=${title} depth=${4} />`
          : html`<${Outline} part=${schema} root=${schema} />`
      }
    </${Card}>
  `;
}

/** @param {{part: any, root: any}} props */
function Outline({ part, root }) {
  const { schema } = shapeOf(part, root);
  const rows = partsOf(part, root);
  return html`
    <div class="stack-small">
      <p class="hint"><${Facts} part=${part} root=${root} /></p>
      ${typeof schema.description === 'string' && html`<p>${inlineMarkdown(schema.description)}</p>`}
      ${rows.length > 0 && html`<${Rows} rows=${rows} root=${root} depth=${0} />`}
    </div>
  `;
}

/** Levels expanded at first. */
const OPEN_LEVELS = 2;
/** Limit of rows expanded at first: a recursive schema would fill the page. */
const OPEN_PARTS = 300;
const MOST_ROWS = 500;

/**
 * @param {{rows: [string, any, boolean][], root: any, depth: number, width?: number}} props `width`: an
 *   estimate of the number of lists at this depth: the row counts of the parent lists, multiplied
 */
function Rows({ rows, root, depth, width = 1 }) {
  const all = width * rows.length;
  return html`
    <ul class="schema-rows">
      ${rows
        .slice(0, MOST_ROWS)
        .map(
          ([name, part, required]) =>
            html`<${Row} key=${name} ...${{ name, part, required, root, depth, width: all }} />`,
        )}
      ${rows.length > MOST_ROWS && html`<li class="muted">${rows.length - MOST_ROWS} more are in the JSON.</li>`}
    </ul>
  `;
}

/** @param {{name: string, part: any, required: boolean, root: any, depth: number, width: number}} props */
function Row({ name, part, required, root, depth, width }) {
  const { schema } = shapeOf(part, root);
  const inner = partsOf(part, root);
  const [open, setOpen] = useState(depth < OPEN_LEVELS && width * inner.length <= OPEN_PARTS);
  return html`
    <li>
      <p class="schema-row-head">
        <code class="schema-name">${name}</code>
        ${required && html`<${Badge} tone="accent">required</${Badge}>`}
        ${schema.deprecated === true && html`<${Badge} tone="warn">deprecated</${Badge}>`}
        <span class="schema-facts"><${Facts} part=${part} root=${root} /></span>
        ${
          inner.length > 0 &&
          html`
            <button type="button" class="schema-fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
              ${open ? 'Hide' : 'Show'} parts<span class="visually-hidden"> of ${name}</span>
            </button>
          `
        }
      </p>
      ${
        typeof schema.description === 'string' && html`<p class="schema-text">${inlineMarkdown(schema.description)}</p>`
      }
      ${open && inner.length > 0 && html`<${Rows} rows=${inner} root=${root} depth=${depth + 1} width=${width} />`}
    </li>
  `;
}

/** Type, limits, choices and default in one line. @param {{part: any, root: any}} props */
function Facts({ part, root }) {
  const { kind, schema } = shapeOf(part, root);
  const usual = defaultText(schema);
  const choices = kind === 'choice' ? schema.enum.slice(0, 12) : [];
  return html`
    <span class="mono">${typeText(part, root)}</span>
    ${limitsOf(schema)
      .map((limit) => `, ${limit}`)
      .join('')}
    ${choices.map(
      (/** @type {any} */ choice, /** @type {number} */ index) =>
        html` <code key=${index}>${JSON.stringify(choice)}</code>`,
    )}
    ${kind === 'choice' && schema.enum.length > choices.length && ' …'}
    ${usual && html`, default <code>${usual}</code>`}
  `;
}

/**
 * The children of a schema: members of an object, or of the objects in a list; items of a tuple; values of a map;
 * variants.
 * @param {any} part
 * @param {any} root
 * @returns {[string, any, boolean][]}
 */
function partsOf(part, root) {
  const { kind, schema } = shapeOf(part, root);
  if (kind === 'object') return propertiesOf(schema);
  if (kind === 'array') {
    const tuple = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    if (tuple.length > 0)
      return tuple.map((/** @type {any} */ one, /** @type {number} */ index) => [
        `[${index}]`,
        one,
        index < (schema.minItems ?? 0),
      ]);
    const items = shapeOf(itemSchema(schema, 0), root);
    return items.kind === 'object' ? propertiesOf(items.schema) : [];
  }
  const variants = schema.anyOf ?? schema.oneOf;
  if (kind === 'map') return [['any key', schema.additionalProperties, false]];
  if ((kind !== 'raw' && kind !== 'variants') || !Array.isArray(variants)) return [];
  const label = (/** @type {any} */ variant, /** @type {number} */ index) => {
    const { title } = resolve(variant, root);
    return typeof title === 'string' && title ? title : `variant ${index + 1}`;
  };
  return variants.map((variant, index) => [label(variant, index), variant, false]);
}
