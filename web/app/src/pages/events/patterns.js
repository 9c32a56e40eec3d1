/** Patterns of event types, as the server reads them: exact, or with one `*` at the end. */

/** What people mostly want, one press away. */
export const COMMON_PATTERNS = ['*', 'custom.*', 'space.*', 'space.unhealthy'];

/** The types the server itself emits; everything else begins with `custom.`. */
const SYSTEM_TYPES = [
  'space.created',
  'space.started',
  'space.stopped',
  'space.deleted',
  'space.healthy',
  'space.unhealthy',
];

/** The nil id: the event was emitted from outside of any space. */
export const NO_SPACE = '00000000-0000-0000-0000-000000000000';

/**
 * Patterns from a text with commas or line breaks.
 * @param {string} text
 */
export function patternsOf(text) {
  return text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter(Boolean);
}

/**
 * What is wrong with the first bad pattern, or ''. The server has the last word; this only spares a
 * request while somebody types.
 * @param {string[]} patterns
 */
export function patternProblem(patterns) {
  const bad = patterns.find((pattern) => !/^[\w.-]*\*?$/.test(pattern));
  if (!bad) return '';
  if (bad.slice(0, -1).includes('*')) return `Pattern ${bad}: a * may stand only once, at the end.`;
  return `Pattern ${bad} may hold only letters, digits, dots, _ and -, and a * at the end.`;
}

/**
 * A type the pattern matches, to try it with.
 * @param {string | undefined} pattern
 */
export function exampleType(pattern) {
  if (!pattern || pattern === '*') return 'custom.test';
  if (!pattern.endsWith('*')) return pattern;
  const start = pattern.slice(0, -1);
  const known = SYSTEM_TYPES.find((type) => type.startsWith(start));
  if (known) return known;
  return start.endsWith('.') ? `${start}test` : start;
}
