/** The draft of a script, and the request made from it. */

import { Refusal } from '../../lib/errors.js';
import { HINTS } from '../../lib/hints.js';
import { parseJson, prettyJson } from '../../lib/json.js';

/** @import { Script } from 'api' */

/**
 * `schema` is the text of the params schema. `schema` and `title` are '' if there is none. `hints` are the annotations
 * of the tool; null means that the author states nothing.
 * @typedef {{name: string, description: string, source: string, schema: string, title: string,
 *   hints: Record<string, boolean | null>}} Draft
 */

/** @param {Script} script @returns {Draft} */
export function draftOf(script) {
  return {
    name: script.name,
    description: script.description,
    source: script.source,
    schema: script.params_schema === null ? '' : prettyJson(script.params_schema),
    title: script.title ?? '',
    hints: script.annotations ?? {},
  };
}

/** @param {Draft} one @param {Draft} other */
export const sameDraft = (one, other) =>
  one.name === other.name &&
  one.description === other.description &&
  one.source === other.source &&
  one.schema === other.schema &&
  one.title === other.title &&
  HINTS.every(({ key }) => (one.hints[key] ?? null) === (other.hints[key] ?? null));

/**
 * The request body as text: the schema is sent as typed, so that no number in it changes. Throws if the schema is
 * invalid JSON.
 * @param {Draft} draft
 * @param {string} kind
 * @param {{more?: Record<string, any>, before?: Draft | null}} [options] `before`: the stored script; an unchanged
 *   schema is not sent
 * @returns {string}
 */
export function bodyOf(draft, kind, { more = {}, before = null } = {}) {
  const body = JSON.stringify({
    name: draft.name.trim(),
    description: draft.description,
    source: draft.source,
    ...(kind === 'tool' && { title: draft.title.trim() || null, annotations: annotationsOf(draft) }),
    ...more,
  });
  if (kind !== 'tool' || draft.schema === before?.schema) return body;
  return `${body.slice(0, -1)},"params_schema":${schemaOf(draft)}}`;
}

/** All hints: null removes a hint that is no longer stated. @param {Draft} draft */
const annotationsOf = ({ hints }) => Object.fromEntries(HINTS.map(({ key }) => [key, hints[key] ?? null]));

/** @param {Draft} draft */
function schemaOf({ schema }) {
  if (schema.trim() === '') return 'null';
  const parsed = parseJson(schema);
  if (!parsed.ok) throw new Refusal(`The params schema is not valid JSON: ${parsed.message}`);
  return schema;
}
