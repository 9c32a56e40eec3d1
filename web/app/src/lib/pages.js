/** Paginated lists that change while they are read. */

/**
 * Merges a reloaded first page into the rows shown. Rows that moved to a later page stay. Rows that were deleted from
 * the first page disappear, unless the last row of the page is new.
 * @template T
 * @param {T[]} shown
 * @param {T[]} first
 * @param {(item: T) => string} id
 * @returns {T[]}
 */
export function mergeFirstPage(shown, first, id) {
  const known = new Set(first.map(id));
  const last = first.length > 0 ? id(first[first.length - 1]) : null;
  // -1 if the last row of the page was not shown before: then all old rows follow the page.
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
export function appendPage(shown, page, id) {
  const known = new Set(shown.map(id));
  return [...shown, ...page.filter((item) => !known.has(id(item)))];
}
