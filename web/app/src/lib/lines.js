/** Lines of a text, for an editor that shows only a part of it. */

/** @typedef {import('./highlight.js').Token} Token */

/**
 * The tokens of the lines `from` to `to` (exclusive), cut at the edges of the part.
 * @param {Token[]} tokens
 * @param {number} from
 * @param {number} to
 * @returns {Token[]}
 */
export function cutLines(tokens, from, to) {
  /** @type {Token[]} */
  const found = [];
  let line = 0;
  for (const [kind, text] of tokens) {
    const start = line;
    line += countBreaks(text);
    if (line < from) continue;
    if (start >= to) break;
    const first = start < from ? indexOfLine(text, from - start) : 0;
    const end = line >= to ? indexOfLine(text, to - start) - 1 : text.length;
    if (end > first) found.push([kind, text.slice(first, end)]);
  }
  return found;
}

/** @param {string} text */
function countBreaks(text) {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** The index at which a line starts. @param {string} text @param {number} line from 0 */
function indexOfLine(text, line) {
  let at = 0;
  for (let passed = 0; passed < line; passed += 1) at = text.indexOf('\n', at) + 1;
  return at;
}

/** The width of the widest line: a tab counts as 4 columns, a character outside ASCII as 2. @param {string} text */
export function widestLine(text) {
  let widest = 0;
  for (const line of text.split('\n')) {
    if (line.length * 4 <= widest) continue;
    let width = 0;
    for (let at = 0; at < line.length; at += 1) {
      const code = line.charCodeAt(at);
      width += code === 9 ? 4 : code > 126 ? 2 : 1;
    }
    widest = Math.max(widest, width);
  }
  return widest;
}
