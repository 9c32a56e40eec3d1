/**
 * Whether a text contains every word of a search, in any order and case.
 * @param {string} text
 * @param {string} search
 */
export function hasWords(text, search) {
  const lower = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
