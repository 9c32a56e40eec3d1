/** Which variants of a schema a value matches. */
import { isNumber, kindOf, sameJson } from '../../lib/exact.js';
import { constantOf, memberOf, propertiesOf, resolve, shapeOf } from './schema.js';

/** @typedef {import('./schema.js').Schema} Schema */
/** @typedef {import('./schema.js').Shape} Shape */

/**
 * The indices of the variants that the value matches, the best one first. Only the type and the constants are compared,
 * also constants of members; a required constant must be present. If `discriminator` names a member whose value belongs
 * to one variant, only this variant matches. Otherwise, variants whose required members are all present come first, and
 * of these the variant with the most required members.
 * @param {any[]} variants
 * @param {Schema} root
 * @param {any} value
 * @returns {number[]}
 */
export function variantsAt(variants, root, value) {
  const shapes = variants.map((part) => shapeOf(part, root));
  const named = shapes.findIndex((shape) => isNamed(shape, root, value));
  if (named >= 0) return [named];
  return shapes
    .flatMap((shape, index) => (matches(shape, root, value) ? [{ index, rank: rankOf(shape, value) }] : []))
    .sort((a, b) => b.rank - a.rank)
    .map(({ index }) => index);
}

/**
 * Whether the value matches a single variant.
 * @param {any} variant
 * @param {Schema} root
 * @param {any} value
 */
export const matchesVariant = (variant, root, value) => variantsAt([variant], root, value).length > 0;

/**
 * Whether the member that `discriminator` names has a value of this variant.
 * @param {Shape} shape
 * @param {Schema} root
 * @param {any} value
 */
function isNamed({ kind, schema }, root, value) {
  const name = schema.discriminator?.propertyName;
  if (kind !== 'object' || typeof name !== 'string') return false;
  if (kindOf(value) !== 'object' || !Object.hasOwn(value, name)) return false;
  const member = resolve(memberOf(schema, name), root);
  const choices = 'const' in member ? [member.const] : member.enum;
  return Array.isArray(choices) && choices.some((one) => sameJson(one, value[name]));
}

/** @param {Shape} shape @param {Schema} root @param {any} value */
function matches({ kind, schema, nullable }, root, value) {
  const isOpen = kind === 'raw' || kind === 'variants';
  if (kind === 'choice') return schema.enum.some((/** @type {any} */ one) => sameJson(one, value));
  if (value === null) return nullable || [schema.type].flat().includes('null') || (isOpen && schema.type === undefined);
  if (kind === 'integer' || kind === 'number') return isNumber(value);
  if (kind === 'object' || kind === 'map') return kindOf(value) === 'object' && hasConstants(schema, root, value);
  if (kind === 'array' || kind === 'set') return Array.isArray(value);
  return isOpen || kindOf(value) === kind;
}

/** @param {Schema} schema @param {Schema} root @param {any} value */
function hasConstants(schema, root, value) {
  return propertiesOf(schema).every(([name, part, required]) => {
    const constant = constantOf(resolve(part, root));
    if (constant === undefined) return true;
    return Object.hasOwn(value, name) ? sameJson(constant, value[name]) : !required;
  });
}

/**
 * The number of required members; -1 if one of them is missing.
 * @param {Shape} shape
 * @param {any} value
 */
function rankOf({ schema }, value) {
  if (kindOf(value) !== 'object' || !Array.isArray(schema.required)) return 0;
  return schema.required.every((name) => Object.hasOwn(value, name)) ? schema.required.length : -1;
}
