/** State of the event tail: merges pages of the history with events of the stream, in any order of arrival. */
import { briefJson } from '../../lib/json.js';

/** Limit of rows, shown and held together, for pages that stay open for days. */
export const MOST_ROWS = 400;
/** Limit of rows held while paused. */
export const MOST_HELD = 200;

/** @typedef {import('./payload.js').EventRecord} EventRecord */
/**
 * An event with only the beginning of its payload, which may be large.
 * @typedef {Omit<EventRecord, 'data'> & {brief: string}} EventRow
 */
/**
 * @typedef {object} TailState
 * @property {EventRow[] | null} events newest first; null before the first event or page
 * @property {EventRow[]} held received while paused, newest first
 * @property {boolean} overflowed more events arrived while paused than are held
 * @property {Set<string>} fresh ids of events from the stream
 * @property {boolean} loaded the first page was loaded
 * @property {string | null} cursor cursor of the next older page
 * @property {string | null} mark the newest id known before the history was requested; a page that does not reach this
 *   id leaves a gap
 * @property {boolean} trimmed the oldest rows were dropped
 * @property {import('../../lib/stream.js').StreamState} link
 * @property {any} error
 */
/**
 * @typedef {{type: 'reset'} | {type: 'link', link: TailState['link'], error?: any} | {type: 'failed', error: any} |
 *   {type: 'resumed'} | {type: 'requested'}
 *   | {type: 'page' | 'older', events: EventRow[], cursor: string | null, paused?: boolean}
 *   | {type: 'received', events: EventRow[], paused: boolean}} TailAction
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
    case 'requested':
      return { ...state, mark: state.mark ?? newestOf(state) };
    case 'resumed':
      return resume(state);
    case 'received':
      return receive(state, action.events, action.paused);
    case 'older':
      return limitRows({
        ...state,
        events: merge(state.events ?? [], newEvents(state, action.events)),
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
  // Before the first page no gap is possible; '' is older than any id.
  return loaded ? ((held[0] ?? events?.[0])?.event_id ?? '') : null;
}

/** @param {TailState} state @param {EventRow[]} events */
function newEvents(state, events) {
  const known = new Set([...(state.events ?? []), ...state.held].map((event) => event.event_id));
  return events.filter((event) => !known.has(event.event_id));
}

/** @param {TailState} state @param {EventRow[]} events @param {boolean} paused @returns {TailState} */
function receive(state, events, paused) {
  const added = newEvents(state, events);
  if (added.length === 0) return state;
  const fresh = new Set([...added.map((event) => event.event_id), ...state.fresh].slice(0, MOST_ROWS));
  if (!paused) return limitRows({ ...state, fresh, events: merge(state.events ?? [], added) });
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
  // Events are missing between the held rows and the older rows, so the older rows are dropped.
  if (state.overflowed)
    return { ...state, events: state.held, held: [], overflowed: false, cursor: null, trimmed: true };
  return limitRows({ ...state, events: merge(state.held, state.events ?? []), held: [] });
}

/**
 * Handles the newest page of the history, requested at the start and after every gap.
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
    return limitRows({
      ...known,
      events: all,
      held: state.held.filter((event) => !all.some((one) => one.event_id === event.event_id)),
      cursor,
    });
  }
  if (cursor === null || state.mark === null || state.mark >= last) return receive(known, events, paused);
  // Events are missing between the page and the older rows, so the older rows are dropped.
  const newer = [...state.held, ...(state.events ?? [])].filter((event) => event.event_id >= last);
  return limitRows({ ...known, events: merge(newer, events), held: [], overflowed: false, cursor, trimmed: false });
}

/** @param {TailState} state @returns {TailState} */
function limitRows(state) {
  const room = MOST_ROWS - state.held.length;
  if ((state.events?.length ?? 0) < room) return state;
  return { ...state, events: (state.events ?? []).slice(0, room), cursor: null, trimmed: true };
}
