/** Shows payloads. A payload with large numbers is shown as text, because JavaScript would round the numbers. */
import { api, at } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { CodeBlock } from '../../ui/code-block.js';
import { JsonView } from '../../ui/json-view.js';

/** @import { EventRecord } from 'api' */

/** @typedef {{event: EventRecord, payload: string}} LoadedEvent */

/** JavaScript keeps a number with up to this many significant digits. */
const EXACT_DIGITS = 15;
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * One event with the text of its payload.
 * @param {string} id
 * @returns {import('../../lib/resource.js').Resource<LoadedEvent>}
 */
export function useEvent(id) {
  return useResource(
    async (signal) => {
      const response = await api.raw('GET', at('/api/events/{id}', { id }), undefined, { signal });
      const text = await response.text();
      return { event: JSON.parse(text), payload: payloadText(text) };
    },
    { deps: [id] },
  );
}

/** `data` is the last member of an event, and no earlier member contains a key of this name. @param {string} text */
function payloadText(text) {
  const start = text.indexOf(',"data":');
  const payload = text.slice(start + 8, text.lastIndexOf('}'));
  try {
    JSON.parse(payload);
    return payload;
  } catch {
    return JSON.stringify(JSON.parse(text).data);
  }
}

/** @param {{text: string}} props */
export function Payload({ text }) {
  if (isExact(text)) return html`<${JsonView} value=${JSON.parse(text)} label="payload as JSON" depth=${3} />`;
  return html`<${CodeBlock} text=${indentJson(text)} language="json" label="payload as JSON" wrap />`;
}

/** Whether `JSON.parse` keeps every number exactly. @param {string} text */
function isExact(text) {
  const numbers = (text.match(TOKEN) ?? []).filter((token) => /^[-\d]/.test(token));
  // A number with an exponent may be too large or too small for JavaScript.
  return numbers.every((token) => token.replace(/\D/g, '').length <= EXACT_DIGITS && !/e/i.test(token));
}

/**
 * Formats JSON with line breaks. It works on the text, so that no number changes; invalid JSON is returned unchanged.
 * @param {string} text
 */
export function indentJson(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  let out = '';
  const line = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, index) => {
    const closing = token === '}' || token === ']';
    const empty = closing && (tokens[index - 1] === '{' || tokens[index - 1] === '[');
    if (closing) depth -= 1;
    if (closing && !empty) out += line();
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    const next = tokens[index + 1];
    if (token === ',' || ((token === '{' || token === '[') && next !== '}' && next !== ']')) out += line();
  });
  return out;
}
