/** Numbers as people write them. */

const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** @param {number} value */
export const formatNumber = (value) => plain.format(value);

/**
 * "1 sink", "3 sinks".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function plural(count, one, many = `${one}s`) {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
