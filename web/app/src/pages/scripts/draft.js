/** What is typed of a script, and what of it the API is told. */
import { parseJson, prettyJson } from '../../lib/json.js';

/**
 * `schema` is the text of the params schema, '' for none.
 * @typedef {{name: string, description: string, source: string, schema: string}} Draft
 */

/** @param {import('./kinds.js').Script} script @returns {Draft} */
export function draftOf(script) {
  return {
    name: script.name,
    description: script.description,
    source: script.source,
    schema: script.params_schema === null ? '' : prettyJson(script.params_schema),
  };
}

/** @param {Draft} one @param {Draft} other */
export const sameDraft = (one, other) =>
  one.name === other.name &&
  one.description === other.description &&
  one.source === other.source &&
  one.schema === other.schema;

/**
 * The body the API takes, as text: a schema goes as it was typed, so that no number in it changes.
 * Throws what is wrong with it.
 * @param {Draft} draft
 * @param {string} kind
 * @param {{more?: Record<string, any>, before?: Draft | null}} [options] `before`: what is stored; a schema nobody
 *   touched is not sent
 * @returns {string}
 */
export function bodyOf(draft, kind, { more = {}, before = null } = {}) {
  const body = JSON.stringify({
    name: draft.name.trim(),
    description: draft.description,
    source: draft.source,
    ...more,
  });
  if (kind !== 'tool' || draft.schema === before?.schema) return body;
  return `${body.slice(0, -1)},"params_schema":${schemaOf(draft)}}`;
}

/** @param {Draft} draft */
function schemaOf({ schema }) {
  if (schema.trim() === '') return 'null';
  const parsed = parseJson(schema);
  if (!parsed.ok) throw new Error(`The params schema is no JSON: ${parsed.message}`);
  return schema;
}
