/** The difference of two texts, line by line. */

/** The maximum number of compared lines of each text. A comparison needs memory for the square of this number. */
export const MOST_LINES = 600;

/** @typedef {{kind: 'same' | 'removed' | 'added', text: string}} Line */

/**
 * Keeps the longest common subsequence of lines. All other lines were removed from `before` or added in `after`.
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function diffLines(before, after) {
  const a = before.split('\n').slice(0, MOST_LINES);
  const b = after.split('\n').slice(0, MOST_LINES);
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  /** @type {Line[]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      lines.push({ kind: 'removed', text: a[i++] });
    } else {
      lines.push({ kind: 'added', text: b[j++] });
    }
  }
  return lines;
}
