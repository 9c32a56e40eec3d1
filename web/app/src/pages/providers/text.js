/** Claims and mappings as people write them: one per line. */

import { Refusal } from '../../lib/errors.js';

/** @import { ClaimMapping } from 'api' */

/** @param {string} text @returns {Record<string, string[]>} */
export function parseRequired(text) {
  /** @type {Record<string, string[]>} */
  const required = {};
  for (const line of lines(text)) {
    const [claim, value] = split(line, line.indexOf('='), 'groups=staff');
    required[claim] = [...(required[claim] ?? []), value];
  }
  return required;
}

/** @param {Record<string, string[]>} required */
export const formatRequired = (required) =>
  Object.entries(required)
    .flatMap(([claim, values]) => values.map((value) => `${claim}=${value}`))
    .join('\n');

/** @param {string} text @returns {ClaimMapping[]} */
export function parseMappings(text) {
  return lines(text).map((line) => {
    // The name of a group at a provider may contain “=”.
    const [value, target] = split(line, line.lastIndexOf('='), 'svc-admins=role:admin');
    const [, kind, name] = /^(group|role):(.+)$/.exec(target) ?? [];
    if (!kind) throw new Refusal(`“${line}” names neither group:NAME nor role:NAME.`);
    return { value, [kind]: name.trim() };
  });
}

/** @param {ClaimMapping[]} mappings */
export const formatMappings = (mappings) =>
  mappings.map(({ value, group, role }) => `${value}=${group ? `group:${group}` : `role:${role}`}`).join('\n');

/** @param {string} text */
const lines = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/**
 * Splits a line at a position of “=”.
 * @param {string} line
 * @param {number} at
 * @param {string} example
 */
function split(line, at, example) {
  if (at < 1 || at === line.length - 1) throw new Refusal(`“${line}” is not like ${example}.`);
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}
