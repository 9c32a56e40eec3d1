/** Quotas of users: their names, their use, and the merge patch of the form. */

import { Refusal } from './errors.js';

/** The label of each quota. @type {[string, string][]} */
export const QUOTAS = [
  ['spaces', 'Spaces'],
  ['tokens', 'API tokens'],
  ['scripts', 'Scripts'],
  ['sinks', 'Event sinks'],
  ['sources', 'Sources'],
  ['schedules', 'Schedules'],
  ['methods', 'Methods on one server'],
  ['event_bytes', 'Bytes of stored events'],
  ['audit_bytes', 'Bytes of audit entries today'],
  ['streams', 'Open streams'],
];

/**
 * The merge patch from the stored values to the typed texts. An empty text restores the server's default. Unchanged
 * quotas are omitted.
 * @param {Record<string, number>} stored
 * @param {Record<string, string>} typed
 * @returns {Record<string, number | null>}
 */
export function quotaPatch(stored, typed) {
  /** @type {Record<string, number | null>} */
  const patch = {};
  for (const [name, text] of Object.entries(typed)) {
    const value = text.trim() === '' ? null : Number(text);
    if (value !== null && !(Number.isSafeInteger(value) && value >= 0))
      throw new Refusal(`\`${name}\`: “${text}” is not a whole number.`);
    if (value !== (stored[name] ?? null)) patch[name] = value;
  }
  return patch;
}
