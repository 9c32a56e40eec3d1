/** The newest events, followed by live events, which are held while paused. */
import { api } from '../../lib/api.js';
import { useEffect, useReducer, useRef } from '../../lib/preact.js';
import { empty, MOST_ROWS, reduce, rowOf } from './tail-state.js';

const PAGE = 50;
/**
 * Events within this time are rendered together, so that a thousand events per second do not cause a thousand renders.
 */
const FLUSH_MS = 200;

/** @typedef {import('./tail-state.js').EventRow} EventRow */
/** @typedef {import('./tail-state.js').TailAction} TailAction */

/**
 * @param {{pattern: string, spaceId: string, paused: boolean, off?: boolean}} options `off`: load nothing, because the
 *   filter is not a valid pattern
 */
export function useEventTail({ pattern, spaceId, paused, off = false }) {
  const [state, dispatch] = useReducer(reduce, undefined, empty);
  const held = useRef(paused);
  held.current = paused;
  const request = useRef(new AbortController());
  const query = { type: pattern, space_id: spaceId, limit: PAGE };

  useEffect(() => {
    dispatch({ type: 'reset' });
    if (off) return undefined;
    request.current = new AbortController();
    return follow({ pattern, spaceId, query, request: request.current, isPaused: () => held.current, dispatch });
  }, [pattern, spaceId, off]);
  useEffect(() => {
    if (!paused) dispatch({ type: 'resumed' });
  }, [paused]);

  const loadMore = async () => {
    const { signal } = request.current;
    try {
      const page = await api.get('/api/events', { ...query, cursor: state.cursor }, { signal });
      if (!signal.aborted) dispatch({ type: 'older', events: page.events.map(rowOf), cursor: page.next_cursor });
    } catch (error) {
      // The filter changed during the request: drop the response.
      if (!signal.aborted) throw error;
    }
  };
  return { ...state, loadMore };
}

/**
 * @param {object} options
 * @param {string} options.pattern
 * @param {string} options.spaceId
 * @param {import('../../lib/api.js').Query} options.query
 * @param {AbortController} options.request aborted when the filter changes
 * @param {() => boolean} options.isPaused
 * @param {(action: TailAction) => void} options.dispatch
 */
function follow({ pattern, spaceId, query, request, isPaused, dispatch }) {
  /** @type {EventRow[]} */
  let waiting = [];
  let timer = 0;
  const load = async () => {
    dispatch({ type: 'requested' });
    try {
      const page = await api.get('/api/events', query, request);
      if (!request.signal.aborted)
        dispatch({ type: 'page', events: page.events.map(rowOf), cursor: page.next_cursor, paused: isPaused() });
    } catch (error) {
      if (!request.signal.aborted) dispatch({ type: 'failed', error });
    }
  };
  const flush = () => {
    timer = 0;
    dispatch({ type: 'received', events: waiting, paused: isPaused() });
    waiting = [];
  };
  const path = `/api/events/stream${pattern ? `?pattern=${encodeURIComponent(pattern)}` : ''}`;
  const stop = api.stream(
    path,
    ({ type, data }) => {
      // The client fell behind the stream: load the missed events from the history.
      if (type === 'lagged') return void load();
      if (spaceId && data.space_id !== spaceId) return undefined;
      waiting.unshift(rowOf(data));
      waiting.length = Math.min(waiting.length, MOST_ROWS);
      timer ||= window.setTimeout(flush, FLUSH_MS);
      return undefined;
    },
    (link, error) => {
      dispatch({ type: 'link', link, error });
      // The history is requested after the stream opened, so that no event is missed.
      if (link === 'open') void load();
    },
  );
  return () => {
    stop();
    request.abort();
    window.clearTimeout(timer);
  };
}
