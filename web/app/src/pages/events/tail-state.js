/** What the tail of events knows: pages of the history and events of the stream, whichever comes first. */
import { briefJson } from '../../lib/json.js';

/** Rows kept, shown and held back together; a page that stands open for days must not grow without end. */
export const MOST_ROWS = 400;
/** Of these, rows that are held back while paused. */
export const MOST_HELD = 200;

/** @typedef {import('./payload.js').EventRecord} EventRecord */
/**
 * An event without its payload, which may be large: a row shows only its beginning.
 * @typedef {Omit<EventRecord, 'data'> & {brief: string}} EventRow
 */
/**
 * @typedef {object} TailState
 * @property {EventRow[] | null} events newest first; null before anything came
 * @property {EventRow[]} held came while paused, newest first
 * @property {boolean} overflowed more came while paused than is held
 * @property {Set<string>} fresh ids that came by the stream
 * @property {boolean} loaded the first page arrived; before it, the stream's events stand alone
 * @property {string | null} cursor of what is older
 * @property {string | null} mark the newest id known before the history was asked: a page that does not reach down to
 *   it leaves a gap
 * @property {boolean} trimmed the oldest rows were let go
 * @property {import('../../lib/stream.js').StreamState} link
 * @property {any} error
 */
/**
 * @typedef {{type: 'reset'} | {type: 'link', link: TailState['link'], error?: any} | {type: 'failed', error: any} |
 *   {type: 'resumed'} | {type: 'asked'}
 *   | {type: 'page' | 'older', events: EventRow[], cursor: string | null, paused?: boolean}
 *   | {type: 'came', events: EventRow[], paused: boolean}} TailAction
 */

/** @returns {TailState} */
export const empty = () => ({
  events: null,
  held: [],
  overflowed: false,
  fresh: new Set(),
  loaded: false,
  cursor: null,
  mark: null,
  trimmed: false,
  link: 'connecting',
  error: null,
});

/** @param {EventRecord} event @returns {EventRow} */
export function rowOf({ data, ...event }) {
  return { ...event, brief: briefJson(data) };
}

/**
 * Each event once, newest first: ids are ordered by time.
 * @param {EventRow[]} one
 * @param {EventRow[]} other
 */
export function merge(one, other) {
  const known = new Map([...one, ...other].map((event) => [event.event_id, event]));
  return [...known.values()].sort((a, b) => (a.event_id < b.event_id ? 1 : -1));
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
    case 'asked':
      return { ...state, mark: state.mark ?? newestOf(state) };
    case 'resumed':
      return resumed(state);
    case 'came':
      return came(state, action.events, action.paused);
    case 'older':
      return bounded({
        ...state,
        events: merge(state.events ?? [], unknown(state, action.events)),
        cursor: action.cursor,
      });
    case 'page':
      return page(state, action.events, action.cursor, action.paused ?? false);
    default:
      return state;
  }
}

/** @param {TailState} state */
function newestOf({ events, held, loaded }) {
  // Before the first page there is nothing that could have a gap behind it; '' is older than any.
  return loaded ? ((held[0] ?? events?.[0])?.event_id ?? '') : null;
}

/** @param {TailState} state @param {EventRow[]} events */
function unknown(state, events) {
  const known = new Set([...(state.events ?? []), ...state.held].map((event) => event.event_id));
  return events.filter((event) => !known.has(event.event_id));
}

/** @param {TailState} state @param {EventRow[]} events @param {boolean} paused @returns {TailState} */
function came(state, events, paused) {
  const added = unknown(state, events);
  if (added.length === 0) return state;
  const fresh = new Set([...added.map((event) => event.event_id), ...state.fresh].slice(0, MOST_ROWS));
  if (!paused) return bounded({ ...state, fresh, events: merge(state.events ?? [], added) });
  const held = merge(state.held, added);
  return bounded({
    ...state,
    fresh,
    held: held.slice(0, MOST_HELD),
    overflowed: state.overflowed || held.length > MOST_HELD,
  });
}

/** @param {TailState} state @returns {TailState} */
function resumed(state) {
  if (state.held.length === 0) return state;
  // Behind what is held some are missing: what was shown before would seem to follow it.
  if (state.overflowed)
    return { ...state, events: state.held, held: [], overflowed: false, cursor: null, trimmed: true };
  return bounded({ ...state, events: merge(state.held, state.events ?? []), held: [] });
}

/**
 * The newest of the history, at the start and after every gap.
 * @param {TailState} state
 * @param {EventRow[]} events
 * @param {string | null} cursor
 * @param {boolean} paused
 * @returns {TailState}
 */
function page(state, events, cursor, paused) {
  const known = { ...state, mark: null, error: null, loaded: true };
  const last = events.length > 0 ? events[events.length - 1].event_id : '';
  if (!state.loaded) {
    const all = merge(state.events ?? [], events);
    return bounded({
      ...known,
      events: all,
      held: state.held.filter((event) => !all.some((one) => one.event_id === event.event_id)),
      cursor,
    });
  }
  if (cursor === null || state.mark === null || state.mark >= last) return came(known, events, paused);
  // More was missed than one page holds: what is older than the page would seem to follow it.
  const newer = [...state.held, ...(state.events ?? [])].filter((event) => event.event_id >= last);
  return bounded({ ...known, events: merge(newer, events), held: [], overflowed: false, cursor, trimmed: false });
}

/** @param {TailState} state @returns {TailState} */
function bounded(state) {
  const room = MOST_ROWS - state.held.length;
  if ((state.events?.length ?? 0) < room) return state;
  return { ...state, events: (state.events ?? []).slice(0, room), cursor: null, trimmed: true };
}
