/** Hints about the behaviour of a tool. A tool may state none, some or all of them. */

/**
 * `key` is the name of the hint in a registration or script, `mcp` its name in a list of tools.
 * @typedef {{key: string, mcp: string, label: string, yes: string, no: string}} Hint
 */

/** @type {Hint[]} */
export const HINTS = [
  { key: 'read_only', mcp: 'readOnlyHint', label: 'Changes nothing', yes: 'read-only', no: 'not read-only' },
  {
    key: 'destructive',
    mcp: 'destructiveHint',
    label: 'May delete or overwrite',
    yes: 'destructive',
    no: 'not destructive',
  },
  { key: 'idempotent', mcp: 'idempotentHint', label: 'Safe to repeat', yes: 'idempotent', no: 'not idempotent' },
  {
    key: 'open_world',
    mcp: 'openWorldHint',
    label: 'Reaches other systems',
    yes: 'open world',
    no: 'closed world',
  },
];

/**
 * The stated hints, in the words that users read.
 * @param {Record<string, boolean | null> | null | undefined} annotations
 * @param {'key' | 'mcp'} [names]
 */
export const hintWords = (annotations, names = 'key') =>
  HINTS.flatMap((hint) => {
    const stated = annotations?.[hint[names]];
    return typeof stated === 'boolean' ? [stated ? hint.yes : hint.no] : [];
  });
