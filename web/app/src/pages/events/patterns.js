/** Patterns of event types, as the server reads them: exact, or with one `*` at the end. */

/** Common patterns, offered as buttons. */
export const COMMON_PATTERNS = ['*', 'custom.*', 'space.*', 'space.unhealthy'];

/** The types of events about spaces. `exampleType` returns one of them if one matches. */
const SYSTEM_TYPES = [
  'space.created',
  'space.started',
  'space.stopped',
  'space.deleted',
  'space.healthy',
  'space.unhealthy',
];

/** The nil id: the event was emitted outside any space. */
export const NO_SPACE = '00000000-0000-0000-0000-000000000000';

/**
 * Splits a text with commas or line breaks into patterns.
 * @param {string} text
 */
export function patternsOf(text) {
  return text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter(Boolean);
}

/**
 * The error of the first invalid pattern, or ''. The server decides; this check saves requests during typing.
 * @param {string[]} patterns
 */
export function patternProblem(patterns) {
  const bad = patterns.find((pattern) => !/^[\w.-]*\*?$/.test(pattern));
  if (!bad) return '';
  if (bad.slice(0, -1).includes('*')) return `Pattern ${bad}: a * is allowed only once, at the end.`;
  return `Pattern ${bad} may hold only letters, digits, dots, _ and -, and a * at the end.`;
}

/**
 * A type that matches the pattern, for a test event.
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
