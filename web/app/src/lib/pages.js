/** Lists that are loaded page by page while they change. */

/**
 * What is shown once the first page is read again. Rows that newer ones pushed off it stay behind it;
 * rows that are gone from its midst are gone.
 * @template T
 * @param {T[]} shown
 * @param {T[]} first
 * @param {(item: T) => string} id
 * @returns {T[]}
 */
export function renewed(shown, first, id) {
  const known = new Set(first.map(id));
  const last = first.length > 0 ? id(first[first.length - 1]) : null;
  // Not found: more is new than a page holds, and all of the old stands behind it.
  const at = shown.findIndex((item) => id(item) === last);
  return [...first, ...shown.slice(at + 1).filter((item) => !known.has(id(item)))];
}

/**
 * @template T
 * @param {T[]} shown
 * @param {T[]} page
 * @param {(item: T) => string} id
 * @returns {T[]}
 */
export function followedBy(shown, page, id) {
  const known = new Set(shown.map(id));
  return [...shown, ...page.filter((item) => !known.has(id(item)))];
}
