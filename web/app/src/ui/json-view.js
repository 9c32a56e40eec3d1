/** A collapsible JSON value, built from elements: strings are never parsed as markup. */
import { isExact, isNumber } from '../lib/exact.js';
import { prettyJson } from '../lib/json.js';
import { html, useState } from '../lib/preact.js';
import { CopyButton } from './button.js';
import { Icon } from './icon.js';

/** Members shown at once; a button shows more. */
const PIECE = 100;

/** @param {{value: any, label?: string, depth?: number, copy?: boolean}} props `depth`: levels expanded at first */
export function JsonView({ value, label = 'JSON', depth = 2, copy = true }) {
  return html`
    <div class="json-view" role="group" aria-label=${label}>
      <div class="json-scroll" tabindex="0" role="region" aria-label=${label}>
        <${JsonNode} value=${value} depth=${depth} />
      </div>
      ${copy && html`<${CopyButton} text=${() => prettyJson(value)} label=${`Copy ${label}`} />`}
    </div>
  `;
}

/** @param {{name?: string, value: any, depth: number}} props */
function JsonNode({ name, value, depth }) {
  if (value === null || typeof value !== 'object' || isExact(value))
    return html`<div class="json-line"><${Name} name=${name} /><${Scalar} value=${value} /></div>`;
  return html`<${Branch} name=${name} value=${value} depth=${depth} />`;
}

/** @param {{name?: string, value: any, depth: number}} props */
function Branch({ name, value, depth }) {
  const [open, setOpen] = useState(depth > 0);
  const [limit, setLimit] = useState(PIECE);
  const list = Array.isArray(value);
  const names = Object.keys(value);
  const [first, last] = list ? '[]' : '{}';
  const size = list ? `${names.length} items` : `${names.length} keys`;
  if (names.length === 0)
    return html`<div class="json-line"><${Name} name=${name} /><span class="json-mark">${first}${last}</span></div>`;
  return html`
    <div class="json-branch">
      <button type="button" class="json-toggle" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        <${Icon} name="chevron-right" size=${12} />
        <${Name} name=${name} />
        <span class="json-mark">${first}</span>
        ${!open && html`<span class="json-size">${size}</span><span class="json-mark">${last}</span>`}
      </button>
      ${
        open &&
        html`
          <div class="json-members">
            ${names.slice(0, limit).map(
              (key) =>
                html`
                  <${JsonNode} key=${key} name=${list ? undefined : key} value=${value[key]} depth=${depth - 1} />
                `,
            )}
            ${
              names.length > limit &&
              html`
                <button type="button" class="json-more" onClick=${() => setLimit(limit + PIECE)}>
                  ${names.length - limit} more
                </button>
              `
            }
          </div>
          <div class="json-line json-mark">${last}</div>
        `
      }
    </div>
  `;
}

/** @param {{name?: string}} props */
function Name({ name }) {
  return name === undefined
    ? null
    : html`<span class="tok-key">${JSON.stringify(name)}</span><span class="json-mark">: </span>`;
}

/** @param {{value: any}} props */
function Scalar({ value }) {
  const kind = typeof value === 'string' ? 'string' : isNumber(value) ? 'number' : 'literal';
  return html`<span class=${`tok-${kind}`}>${JSON.stringify(value) ?? 'null'}</span>`;
}
