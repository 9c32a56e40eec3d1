/** The order of the rows of a table, as text: the key of a column. A `-` before the key reverses the order. */

/**
 * @template T
 * @typedef {{key: string, sort?: true | ((row: T) => string | number | null | undefined)}} SortedColumn `sort`: true
 *   for the member `key` of the row
 */

/**
 * Rows in an order. Rows without a value come last in both directions. An unknown order changes nothing.
 * @template T
 * @param {T[]} rows
 * @param {SortedColumn<T>[]} columns
 * @param {string} order
 * @returns {T[]}
 */
export function sortRows(rows, columns, order) {
  const { key, down } = partsOf(order);
  const sort = columns.find((column) => column.key === key)?.sort;
  if (!sort) return rows;
  const value = sort === true ? (/** @type {any} */ row) => row[key] : sort;
  const sorted = rows.map((row) => ({ row, at: value(row) ?? '' }));
  sorted.sort((a, b) => {
    if (a.at === '' || b.at === '') return Number(a.at === '') - Number(b.at === '');
    return (down ? -1 : 1) * compare(a.at, b.at);
  });
  return sorted.map(({ row }) => row);
}

/** @param {string} order */
export function partsOf(order) {
  const down = order.startsWith('-');
  return { key: down ? order.slice(1) : order, down };
}

/**
 * The order after a click on the head of a column: up, then down, then the order of the page again.
 * @param {string} order
 * @param {string} key
 */
export function nextOrder(order, key) {
  if (order === key) return `-${key}`;
  return order === `-${key}` ? '' : key;
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** @param {string | number} a @param {string | number} b */
function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
}
