/** Checks of values against a schema, and schemas described in words. */
import { isNumber, kindOf, numberText, sameJson } from '../../lib/exact.js';
import { briefJson } from '../../lib/json.js';
import { formatError } from './formats.js';
import { constantOf, freeParts, itemSchema, memberOf, resolve, shapeOf, variantsOf } from './schema.js';
import { variantsAt } from './variant-match.js';

/** @typedef {import('./schema.js').Schema} Schema */

/**
 * The error of one value, without errors of its members. Only a hint: the method itself validates params.
 * @param {import('./schema.js').Shape} shape
 * @param {any} value
 * @param {boolean} required
 * @param {Schema} [root] for references of variants
 * @returns {string} '' for a valid value
 */
export function valueError({ kind, schema, nullable }, value, required, root = {}) {
  if (value === undefined) return required ? 'Required.' : '';
  if (value === null && nullable) return '';
  if (kind === 'choice')
    return schema.enum.some((/** @type {any} */ one) => sameJson(one, value)) ? '' : 'Not one of the allowed values.';
  if (kind === 'string') return ofString(schema, value);
  if (kind === 'integer' || kind === 'number') return ofNumber(kind, schema, value);
  if (kind === 'array' || kind === 'set') return ofArray(schema, value);
  if (kind === 'variants')
    return variantsAt(variantsOf(schema, root), root, value).length > 0 ? '' : 'Matches none of the variants.';
  if (kind === 'map' || kind === 'object') return ofObject(schema, value);
  return kind === 'boolean' && kindOf(value) !== kind ? `Is ${a(kindOf(value))}, should be a boolean.` : '';
}

/** @param {string} word */
const a = (word) => (word === 'null' ? word : `${/^[aeio]/.test(word) ? 'an' : 'a'} ${word}`);

/** @param {number} number @param {string} word */
const count = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;

/** @param {Schema} schema @param {any} value */
function ofString(schema, value) {
  if (typeof value !== 'string') return `Is ${a(kindOf(value))}, should be a string.`;
  const length = [...value].length;
  if (length < schema.minLength)
    return schema.minLength === 1 ? 'Must not be empty.' : `At least ${count(schema.minLength, 'character')}.`;
  if (length > schema.maxLength) return `At most ${count(schema.maxLength, 'character')}.`;
  if (!matches(schema.pattern, value)) return 'Does not match the pattern.';
  return length > LONGEST_TEXT ? '' : formatError(schema.format, value);
}

/** @param {'integer' | 'number'} kind @param {Schema} schema @param {any} value */
function ofNumber(kind, schema, value) {
  if (!isNumber(value)) return kind === 'integer' ? 'Not a whole number.' : 'Not a number.';
  const amount = Number(numberText(value));
  if (kind === 'integer' && !Number.isInteger(amount)) return 'Not a whole number.';
  if (amount < schema.minimum) return `At least ${schema.minimum}.`;
  if (amount > schema.maximum) return `At most ${schema.maximum}.`;
  if (typeof schema.exclusiveMinimum === 'number' && amount <= schema.exclusiveMinimum)
    return `More than ${schema.exclusiveMinimum}.`;
  if (typeof schema.exclusiveMaximum === 'number' && amount >= schema.exclusiveMaximum)
    return `Less than ${schema.exclusiveMaximum}.`;
  return '';
}

/** @param {Schema} schema @param {any} value */
function ofArray(schema, value) {
  if (!Array.isArray(value)) return `Is ${a(kindOf(value))}, should be an array.`;
  if (value.length < schema.minItems) return `At least ${count(schema.minItems, 'item')}.`;
  if (value.length > schema.maxItems) return `At most ${count(schema.maxItems, 'item')}.`;
  if (schema.uniqueItems === true && new Set(value.map((one) => JSON.stringify(one))).size < value.length)
    return 'Items must differ.';
  return '';
}

/** @param {Schema} schema @param {any} value */
function ofObject(schema, value) {
  if (kindOf(value) !== 'object') return `Is ${a(kindOf(value))}, should be an object.`;
  const keys = Object.keys(value).length;
  if (keys < schema.minProperties) return `At least ${count(schema.minProperties, 'key')}.`;
  return keys > schema.maxProperties ? `At most ${count(schema.maxProperties, 'key')}.` : '';
}

const LONGEST_PATTERN = 200;
const LONGEST_TEXT = 1_000;

/**
 * Whether a pattern is fast on every input: no groups, alternatives or back references, and at most one quantifier that
 * can backtrack. A fixed count cannot backtrack. The check ignores the grammar, so an escaped `+` counts too, which
 * only makes it stricter.
 * @param {string} pattern
 */
export function isFast(pattern) {
  if (pattern.length > LONGEST_PATTERN || /[(|]|\\[1-9k]/.test(pattern)) return false;
  const choices = pattern.replace(/\{\d{1,2}\}/g, '').match(/[*+?{]/g) ?? [];
  return choices.length <= 1;
}

/**
 * Patterns come from other users, and a short pattern can block a browser for hours. So only fast ones are tested;
 * other patterns are shown, and the method validates the value.
 * @param {unknown} pattern
 * @param {string} text
 * @returns {boolean | undefined} undefined if the pattern is not tested
 */
export function testPattern(pattern, text) {
  if (typeof pattern !== 'string' || text.length > LONGEST_TEXT || !isFast(pattern)) return undefined;
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return undefined;
  }
}

/** Whether the text matches the pattern, or the pattern is not tested. @param {unknown} pattern @param {string} text */
export const matches = (pattern, text) => testPattern(pattern, text) !== false;

/** Limit of variants named in a type. */
const MOST_VARIANTS = 6;

/**
 * The type of a schema in words: "string", "array of integer", "string or null".
 * @param {any} part
 * @param {Schema} root
 * @returns {string}
 */
export function typeText(part, root, depth = 0) {
  const { kind, schema, nullable } = shapeOf(part, root);
  const or = nullable ? ' or null' : '';
  if (kind === 'choice') return schema.enum.length === 1 ? 'constant' : `one of ${schema.enum.length}`;
  if (kind === 'array') {
    const items = itemSchema(schema, Infinity);
    const inner = depth < 3 ? typeText(items, root, depth + 1) : 'any';
    return `array${inner === 'any' ? '' : ` of ${inner}`}${or}`;
  }
  if (kind === 'map') {
    const parts = freeParts(schema).map(([, one]) => one);
    return `object of ${depth < 3 ? typesText(parts, root, depth) : 'any'}${or}`;
  }
  if (kind === 'set') return `set of ${resolve(schema.items, root).enum.length}${or}`;
  if (kind !== 'raw' && kind !== 'variants') return kind + or;
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants) && depth < 3) return typesText(variants, root, depth);
  const types = [schema.type].flat().filter((type) => typeof type === 'string');
  return types.join(' or ') || 'any';
}

/** @param {any[]} parts @param {Schema} root @param {number} depth */
function typesText(parts, root, depth) {
  const types = parts.slice(0, MOST_VARIANTS).map((part) => typeText(part, root, depth + 1));
  return [...new Set(types)].join(' or ') || 'any';
}

/** Limit of characters of a label. */
const LONGEST_LABEL = 80;

/** Limit of constants in a label. */
const MOST_CONSTANTS = 20;

/**
 * The label of a variant: the title, or the constant that distinguishes the variants, or its values, or the type. An
 * object without constants is named by its required members.
 * @param {any} part
 * @param {number} index
 * @param {Schema} root
 */
export function variantLabel(part, index, root) {
  const { kind, schema } = shapeOf(part, root);
  const names = resolve(memberOf(schema, schema.discriminator?.propertyName), root).enum;
  const constants = Object.values(schema.properties ?? {}).map((one) => constantOf(resolve(one, root)));
  const label = [schema.title, Array.isArray(names) && names.join(', '), ...constants].find(
    (one) => typeof one === 'string' && one !== '',
  );
  if (label !== undefined) return label.slice(0, LONGEST_LABEL);
  if (kind === 'choice')
    return schema.enum.slice(0, MOST_CONSTANTS).map(constantText).join(', ').slice(0, LONGEST_LABEL);
  const type = typeText(part, root);
  if (type !== 'any' && type !== 'object') return type;
  const required = Array.isArray(schema.required) ? schema.required.filter((one) => typeof one === 'string') : [];
  return required.length > 0 ? `with ${required.join(', ')}`.slice(0, LONGEST_LABEL) : `${type} ${index + 1}`;
}

/** @param {any} value */
const constantText = (value) => (typeof value === 'string' && value !== '' ? value : briefJson(value, LONGEST_LABEL));

/**
 * The limits of a schema, each in a few words.
 * @param {Schema} schema
 * @returns {string[]}
 */
export function limitsOf(schema) {
  /** @type {[string, (value: any) => string][]} */
  const words = [
    ['format', (value) => `format ${value}`],
    ['minimum', (value) => `at least ${value}`],
    ['exclusiveMinimum', (value) => `more than ${value}`],
    ['maximum', (value) => `at most ${value}`],
    ['exclusiveMaximum', (value) => `less than ${value}`],
    ['multipleOf', (value) => `a multiple of ${value}`],
    ['minLength', (value) => `at least ${count(value, 'character')}`],
    ['maxLength', (value) => `at most ${count(value, 'character')}`],
    ['minItems', (value) => `at least ${count(value, 'item')}`],
    ['maxItems', (value) => `at most ${count(value, 'item')}`],
    ['minProperties', (value) => `at least ${count(value, 'key')}`],
    ['maxProperties', (value) => `at most ${count(value, 'key')}`],
    ['uniqueItems', () => 'no item twice'],
    ['pattern', (value) => `pattern ${value}`],
  ];
  // Draft 4 uses `exclusiveMinimum: true`, which is not a limit by itself.
  const sayable = (/** @type {string} */ name) =>
    ['string', 'number'].includes(typeof schema[name]) || (name === 'uniqueItems' && schema[name] === true);
  const limits = words.filter(([name]) => sayable(name)).map(([name, say]) => say(schema[name]));
  const keys = schema.propertyNames?.pattern;
  return typeof keys === 'string' ? [...limits, `keys match ${keys}`] : limits;
}

/** @param {Schema} schema */
export function defaultText(schema) {
  return schema.default === undefined ? '' : briefJson(schema.default, 60);
}
