/** The newest events, then each further one as it comes; held back while paused. */
import { api } from '../../lib/api.js';
import { useEffect, useReducer, useRef } from '../../lib/preact.js';

/** Rows kept; a page that stands open for days must not grow without end. */
export const MOST_ROWS = 400;
const PAGE = 50;
/** Events that come close together are shown together: a thousand a second must not be a thousand renders. */
const FLUSH_MS = 200;

/** @typedef {import('./payload.js').EventRecord} EventRecord */
/**
 * @typedef {object} TailState
 * @property {EventRecord[] | null} events newest first; null before the first answer
 * @property {EventRecord[]} held came while paused, newest first
 * @property {Set<string>} fresh ids that came by the stream
 * @property {string | null} cursor of what is older
 * @property {boolean} trimmed the oldest rows were let go
 * @property {import('../../lib/stream.js').StreamState} link
 * @property {any} error
 */
/**
 * @typedef {{type: 'reset'} | {type: 'link', link: TailState['link'], error?: any} | {type: 'failed', error: any} | {type: 'resumed'}
 *   | {type: 'page' | 'older', events: EventRecord[], cursor: string | null, paused?: boolean}
 *   | {type: 'came', events: EventRecord[], paused: boolean}} TailAction
 */

/** @returns {TailState} */
const empty = () => ({ events: null, held: [], fresh: new Set(), cursor: null, trimmed: false, link: 'connecting', error: null });

/**
 * @param {{pattern: string, spaceId: string, paused: boolean, off?: boolean}} options `off`: ask nothing, the filter is no pattern yet
 */
export function useEventTail({ pattern, spaceId, paused, off = false }) {
  const [state, tell] = useReducer(reduce, undefined, empty);
  const held = useRef(paused);
  held.current = paused;
  const query = { type: pattern, space_id: spaceId, limit: PAGE };

  useEffect(() => {
    tell({ type: 'reset' });
    if (off) return undefined;
    const stop = follow({ pattern, spaceId, query, isPaused: () => held.current, tell });
    return stop;
  }, [pattern, spaceId, off]);
  useEffect(() => {
    if (!paused) tell({ type: 'resumed' });
  }, [paused]);

  const loadMore = async () => {
    const page = await api.get('/api/events', { ...query, cursor: state.cursor });
    tell({ type: 'older', events: page.events, cursor: page.next_cursor });
  };
  return { ...state, loadMore };
}

/**
 * @param {object} options
 * @param {string} options.pattern
 * @param {string} options.spaceId
 * @param {import('../../lib/api.js').Query} options.query
 * @param {() => boolean} options.isPaused
 * @param {(action: TailAction) => void} options.tell
 */
function follow({ pattern, spaceId, query, isPaused, tell }) {
  const request = new AbortController();
  /** @type {EventRecord[]} */
  let waiting = [];
  let timer = 0;
  const load = async () => {
    try {
      const page = await api.get('/api/events', query, request);
      tell({ type: 'page', events: page.events, cursor: page.next_cursor, paused: isPaused() });
    } catch (error) {
      if (!request.signal.aborted) tell({ type: 'failed', error });
    }
  };
  const flush = () => {
    timer = 0;
    tell({ type: 'came', events: waiting, paused: isPaused() });
    waiting = [];
  };
  const path = `/api/events/stream${pattern ? `?pattern=${encodeURIComponent(pattern)}` : ''}`;
  const stop = api.stream(path, ({ type, data }) => {
    // Too slow for the stream: what was missed is in the history.
    if (type === 'lagged') return void load();
    if (spaceId && data.space_id !== spaceId) return undefined;
    waiting.unshift(data);
    waiting.length = Math.min(waiting.length, MOST_ROWS);
    timer ||= window.setTimeout(flush, FLUSH_MS);
    return undefined;
  }, (link, error) => {
    tell({ type: 'link', link, error });
    // The history is asked once the stream is open: nothing falls between the two.
    if (link === 'open') void load();
  });
  return () => {
    stop();
    request.abort();
    window.clearTimeout(timer);
  };
}

/** @param {TailState} state @param {TailAction} action @returns {TailState} */
function reduce(state, action) {
  switch (action.type) {
    case 'reset': return empty();
    case 'link': return { ...state, link: action.link, error: action.link === 'failed' ? action.error : state.error };
    case 'failed': return { ...state, error: action.error };
    case 'resumed': return state.held.length ? shown({ ...state, events: [...state.held, ...(state.events ?? [])], held: [] }) : state;
    case 'came': return came(state, action.events, action.paused);
    case 'older': return { ...state, events: [...(state.events ?? []), ...unknown(state, action.events)], cursor: action.cursor };
    case 'page': return page(state, action.events, action.cursor, action.paused ?? false);
    default: return state;
  }
}

/** @param {TailState} state @param {EventRecord[]} events */
function unknown(state, events) {
  const known = new Set([...(state.events ?? []), ...state.held].map((event) => event.event_id));
  return events.filter((event) => !known.has(event.event_id));
}

/** @param {TailState} state @param {EventRecord[]} events @param {boolean} paused @returns {TailState} */
function came(state, events, paused) {
  const added = unknown(state, events);
  if (added.length === 0) return state;
  const fresh = new Set([...added.map((event) => event.event_id), ...state.fresh].slice(0, MOST_ROWS));
  if (paused) return { ...state, fresh, held: [...added, ...state.held].slice(0, MOST_ROWS) };
  return shown({ ...state, fresh, events: [...added, ...(state.events ?? [])] });
}

/** The first page, at the start and after every gap. @param {TailState} state @param {EventRecord[]} events @param {string | null} cursor @param {boolean} paused @returns {TailState} */
function page(state, events, cursor, paused) {
  const added = unknown(state, events);
  if (state.events === null) return { ...state, events, cursor, error: null };
  if (added.length < events.length || events.length === 0) return { ...came(state, added, paused), error: null };
  // Nothing in common with what is on screen: more was missed than one page holds.
  return { ...state, events, held: [], cursor, trimmed: false, error: null };
}

/** @param {TailState} state @returns {TailState} */
function shown(state) {
  if ((state.events?.length ?? 0) <= MOST_ROWS) return state;
  return { ...state, events: (state.events ?? []).slice(0, MOST_ROWS), cursor: null, trimmed: true };
}
