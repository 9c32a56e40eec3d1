/**
 * State of a tail, which is a list that grows while it is shown. Merges pages of the list with the records of its
 * stream, in any order of arrival.
 */

/** Limit of rows, shown and held together, for pages that stay open for days. */
export const MOST_ROWS = 400;
/** Limit of rows held while paused. */
export const MOST_HELD = 200;

/** A record as a table shows it; ids are ordered by time. @typedef {{id: string, [field: string]: any}} Row */
/**
 * @typedef {object} TailState
 * @property {Row[] | null} rows newest first; null before the first record or page
 * @property {Row[]} held received while paused, newest first
 * @property {boolean} overflowed more records arrived while paused than are held
 * @property {Set<string>} fresh ids of records from the stream
 * @property {boolean} loaded the first page was loaded
 * @property {string | null} cursor cursor of the next older page
 * @property {string | null} mark the newest id known before the history was requested; a page that does not reach this
 *   id leaves a gap
 * @property {boolean} trimmed the oldest rows were dropped
 * @property {any} about the other members of the last page, such as `dropped` of calls
 * @property {import('../../lib/stream.js').StreamState} link
 * @property {any} error
 */
/**
 * @typedef {{type: 'reset'} | {type: 'link', link: TailState['link'], error?: any} | {type: 'failed', error: any} |
 *   {type: 'resumed'} | {type: 'requested'}
 *   | {type: 'page' | 'older', rows: Row[], cursor: string | null, paused?: boolean, about?: any}
 *   | {type: 'received', rows: Row[], paused: boolean}} TailAction
 */

/** @returns {TailState} */
export const empty = () => ({
  rows: null,
  held: [],
  overflowed: false,
  fresh: new Set(),
  loaded: false,
  cursor: null,
  mark: null,
  trimmed: false,
  about: {},
  link: 'connecting',
  error: null,
});

/**
 * Each row once, newest first: ids are ordered by time.
 * @param {Row[]} one
 * @param {Row[]} other
 */
export function merge(one, other) {
  const known = new Map([...one, ...other].map((row) => [row.id, row]));
  return [...known.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** @param {TailState} state @param {TailAction} action @returns {TailState} */
export function reduce(state, action) {
  switch (action.type) {
    case 'reset':
      return empty();
    case 'link':
      return { ...state, link: action.link, error: action.link === 'failed' ? action.error : state.error };
    case 'failed':
      return { ...state, error: action.error };
    case 'requested':
      return { ...state, mark: state.mark ?? newestOf(state) };
    case 'resumed':
      return resume(state);
    case 'received':
      return receive(state, action.rows, action.paused);
    case 'older':
      return limitRows({
        ...state,
        rows: merge(state.rows ?? [], newRows(state, action.rows)),
        cursor: action.cursor,
        about: action.about ?? {},
      });
    case 'page':
      return page({ ...state, about: action.about ?? {} }, action.rows, action.cursor, action.paused ?? false);
    default:
      return state;
  }
}

/** @param {TailState} state */
function newestOf({ rows, held, loaded }) {
  // Before the first page no gap is possible; '' is older than any id.
  return loaded ? ((held[0] ?? rows?.[0])?.id ?? '') : null;
}

/** @param {TailState} state @param {Row[]} rows */
function newRows(state, rows) {
  const known = new Set([...(state.rows ?? []), ...state.held].map((row) => row.id));
  return rows.filter((row) => !known.has(row.id));
}

/** @param {TailState} state @param {Row[]} rows @param {boolean} paused @returns {TailState} */
function receive(state, rows, paused) {
  const added = newRows(state, rows);
  if (added.length === 0) return state;
  const fresh = new Set([...added.map((row) => row.id), ...state.fresh].slice(0, MOST_ROWS));
  if (!paused) return limitRows({ ...state, fresh, rows: merge(state.rows ?? [], added) });
  const held = merge(state.held, added);
  return limitRows({
    ...state,
    fresh,
    held: held.slice(0, MOST_HELD),
    overflowed: state.overflowed || held.length > MOST_HELD,
  });
}

/** @param {TailState} state @returns {TailState} */
function resume(state) {
  if (state.held.length === 0) return state;
  // Rows are missing between the held rows and the older rows, so the older rows are dropped.
  if (state.overflowed) return { ...state, rows: state.held, held: [], overflowed: false, cursor: null, trimmed: true };
  return limitRows({ ...state, rows: merge(state.held, state.rows ?? []), held: [] });
}

/**
 * Handles the newest page of the history, requested at the start and after every gap.
 * @param {TailState} state
 * @param {Row[]} rows
 * @param {string | null} cursor
 * @param {boolean} paused
 * @returns {TailState}
 */
function page(state, rows, cursor, paused) {
  const known = { ...state, mark: null, error: null, loaded: true };
  const last = rows.length > 0 ? rows[rows.length - 1].id : '';
  if (!state.loaded) {
    const all = merge(state.rows ?? [], rows);
    return limitRows({
      ...known,
      rows: all,
      held: state.held.filter((row) => !all.some((one) => one.id === row.id)),
      cursor,
    });
  }
  if (cursor === null || state.mark === null || state.mark >= last) return receive(known, rows, paused);
  // Rows are missing between the page and the older rows, so the older rows are dropped.
  const newer = [...state.held, ...(state.rows ?? [])].filter((row) => row.id >= last);
  return limitRows({ ...known, rows: merge(newer, rows), held: [], overflowed: false, cursor, trimmed: false });
}

/** @param {TailState} state @returns {TailState} */
function limitRows(state) {
  const room = MOST_ROWS - state.held.length;
  if ((state.rows?.length ?? 0) < room) return state;
  return { ...state, rows: (state.rows ?? []).slice(0, room), cursor: null, trimmed: true };
}
