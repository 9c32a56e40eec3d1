/** Free keys of an object: keys that are not in `properties`. */
import { kindOf } from '../../lib/exact.js';
import { testPattern, valueError } from './check.js';
import { freeParts, memberOf, resolve, shapeOf } from './schema.js';

/** @typedef {import('./schema.js').Schema} Schema */

/** Limit of tested patterns; a key may match each further pattern. */
const MOST_PATTERNS = 50;

/**
 * The free members of a value.
 * @param {Schema} schema
 * @param {any} value
 * @returns {[key: string, value: any][]}
 */
export const freeMembers = (schema, value) =>
  Object.entries(value ?? {}).filter(([key]) => memberOf(schema, key) === undefined);

/**
 * The schema of a free key: of the patterns that match the key, or else of all other keys.
 * @param {Schema} schema
 * @param {string} key
 * @returns {any}
 */
export function partOfKey(schema, key) {
  const tested = testKey(schema, key);
  const parts = tested.filter(({ match }) => match).map(({ part }) => part);
  if (parts.length > 0) return parts.length === 1 ? parts[0] : { allOf: parts };
  // A pattern that is not tested may match the key.
  return tested.some(({ match }) => match === undefined) ? {} : (schema.additionalProperties ?? {});
}

/**
 * Why a free key is not allowed.
 * @param {Schema} schema
 * @param {string} key
 * @param {Schema} root
 * @returns {string} '' for an allowed key
 */
export function keyError(schema, key, root) {
  if (schema.propertyNames === false) return 'The schema allows no keys.';
  if (kindOf(schema.propertyNames) === 'object') {
    const names = shapeOf({ ...resolve(schema.propertyNames, root), type: 'string' }, root);
    const error = valueError(names, key, true, root);
    if (error) return error;
  }
  if (schema.additionalProperties !== false) return '';
  const tested = testKey(schema, key);
  if (tested.length === 0) return 'The schema does not allow this key.';
  return tested.some(({ match }) => match !== false) ? '' : 'Matches no pattern of the keys.';
}

/** Tests the key against the patterns of the schema. @param {Schema} schema @param {string} key */
function testKey(schema, key) {
  const patterns = freeParts(schema).filter(([pattern]) => pattern !== null);
  return patterns.map(([pattern, part], index) => ({
    part,
    match: index < MOST_PATTERNS ? testPattern(pattern, key) : undefined,
  }));
}
