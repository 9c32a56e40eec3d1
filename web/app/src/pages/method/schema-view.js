/** A readable schema: a collapsible list of names, types, limits and descriptions. */
import { html, useState } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { Segmented } from '../../ui/field.js';
import { JsonView } from '../../ui/json-view.js';
import { inlineMarkdown } from '../../ui/markdown.js';
import { defaultText, limitsOf, typeText, variantLabel } from './check.js';
import { freeParts, itemSchema, propertiesOf, shapeOf, variantsOf } from './schema.js';

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
          ([name, part, required], index) =>
            html`<${Row} key=${`${index} ${name}`} ...${{ name, part, required, root, depth, width: all }} />`,
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
 * The children of a schema: members and free keys of an object, or of the objects in a list; items of a tuple;
 * variants.
 * @param {any} part
 * @param {any} root
 * @returns {[string, any, boolean][]}
 */
function partsOf(part, root) {
  const { kind, schema } = shapeOf(part, root);
  if (kind === 'object' || kind === 'map') return membersOf(schema);
  if (kind === 'array') {
    const tuple = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    if (tuple.length > 0)
      return tuple.map((/** @type {any} */ one, /** @type {number} */ index) => [
        `[${index}]`,
        one,
        index < (schema.minItems ?? 0),
      ]);
    const items = shapeOf(itemSchema(schema, 0), root);
    return items.kind === 'object' ? membersOf(items.schema) : [];
  }
  const variants = kind === 'variants' ? variantsOf(schema, root) : (schema.anyOf ?? schema.oneOf);
  if ((kind !== 'raw' && kind !== 'variants') || !Array.isArray(variants)) return [];
  return variants.map((variant, index) => [variantLabel(variant, index, root), variant, false]);
}

/** Limit of characters of a pattern in a row. */
const LONGEST_PATTERN = 80;

/**
 * The declared properties and the free keys.
 * @param {import('./schema.js').Schema} schema an object
 * @returns {[string, any, boolean][]}
 */
function membersOf(schema) {
  const declared = propertiesOf(schema);
  const free = freeParts(schema).map(([pattern, part], index) => {
    const others = declared.length + index === 0 ? 'any key' : 'other keys';
    const label = pattern === null ? others : `keys matching ${pattern.slice(0, LONGEST_PATTERN)}`;
    return /** @type {[string, any, boolean]} */ ([label, part, false]);
  });
  return [...declared, ...free];
}
