/** Paths of the members of a JSON value: writes a path as text, and searches for members. */
import { isExact } from './exact.js';

/** @typedef {(string | number)[]} Path the keys and indexes from the root to a member */

/** The maximum number of members that a search reads: more would block the page. */
const VISITED_MAX = 200_000;
/** The maximum number of members that a search returns. */
export const FOUND_MAX = 200;

/** As JSONPath: `$.orders[0]["full name"]`. @param {Path} path */
export function pathText(path) {
  const step = (/** @type {string | number} */ key) => {
    if (typeof key === 'number') return `[${key}]`;
    return /^[A-Za-z_][\w]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  };
  return `$${path.map(step).join('')}`;
}

/** Whether the value is an object or an array. @param {any} value */
export const isBranch = (value) => value !== null && typeof value === 'object' && !isExact(value);

/**
 * The members whose key or value contains a text. Upper and lower case are equal.
 * @param {any} root
 * @param {string} text
 * @returns {{found: Path[], hasMore: boolean}}
 */
export function searchJson(root, text) {
  const wanted = text.toLowerCase();
  /** @type {Path[]} */
  const found = [];
  let visited = 0;
  let hasMore = false;
  const has = (/** @type {any} */ part) => String(part).toLowerCase().includes(wanted);
  const visit = (/** @type {any} */ value, /** @type {Path} */ path) => {
    visited += 1;
    if (found.length >= FOUND_MAX || visited > VISITED_MAX) {
      hasMore = true;
      return;
    }
    const key = path[path.length - 1];
    const scalar = isExact(value) ? value.rawJSON : value;
    if ((typeof key === 'string' && has(key)) || (!isBranch(value) && has(scalar))) found.push(path);
    if (!isBranch(value)) return;
    for (const name of Object.keys(value)) {
      if (hasMore) return;
      visit(value[name], [...path, Array.isArray(value) ? Number(name) : name]);
    }
  };
  visit(root, []);
  return { found, hasMore };
}
