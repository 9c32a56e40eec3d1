/**
 * JSON that keeps numbers as written. The server passes params and results on unchanged, so a page must not turn
 * 12345678901234567890 into 12345678901234567000 either.
 */
import { parseJson } from './json.js';

/**
 * A browser has both `rawJSON` and the source text in revivers, or neither. Without them, numbers are doubles.
 */
const json = /** @type {{rawJSON?: (text: string) => any, isRawJSON?: (value: any) => boolean}} */ (
  /** @type {unknown} */ (JSON)
);

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Parses a number. The result is an ordinary number if JavaScript prints it as the same text, or if the
 * browser has no `rawJSON`.
 * @param {string} text
 * @returns {any}
 */
function numberOf(text) {
  const value = Number(text);
  return String(value) === text || !json.rawJSON ? value : json.rawJSON(text);
}

/** The value of a number field: a number, or the text if it is not a number. @param {string} text */
export function typedNumber(text) {
  return NUMBER.test(text) ? numberOf(text) : text;
}

/** @param {any} value a number kept as text @returns {boolean} */
export function isExact(value) {
  return json.isRawJSON?.(value) ?? false;
}

/** @param {any} value */
export const isNumber = (value) => typeof value === 'number' || isExact(value);
/** @param {any} value */
export const numberText = (value) => (isExact(value) ? value.rawJSON : String(value));

/**
 * The type of a value in the terms of JSON Schema; `undefined` for a missing value.
 * @param {any} value
 * @returns {'undefined' | 'null' | 'number' | 'string' | 'boolean' | 'array' | 'object'}
 */
export function kindOf(value) {
  if (value === null) return 'null';
  if (isNumber(value)) return 'number';
  if (Array.isArray(value)) return 'array';
  return /** @type {any} */ (typeof value);
}

/**
 * @param {string} text
 * @returns {import('./json.js').Parsed}
 */
export function parseExact(text) {
  const parsed = parseJson(text);
  if (!parsed.ok || !json.rawJSON) return parsed;
  const revive = (/** @type {string} */ _key, /** @type {any} */ value, /** @type {{source?: string}} */ context) =>
    typeof value === 'number' && context?.source !== undefined ? numberOf(context.source) : value;
  return { ok: true, value: JSON.parse(text, /** @type {any} */ (revive)) };
}

/** @param {any} left @param {any} right */
export const sameJson = (left, right) => JSON.stringify(left) === JSON.stringify(right);

/** Whether the value contains a number that is kept as text. @param {any} value @returns {boolean} */
export function hasExact(value) {
  if (isExact(value)) return true;
  return value !== null && typeof value === 'object' && Object.values(value).some(hasExact);
}
