/** The newest records of a list, followed by the records of its stream, which are held while paused. */
import { api } from '../../lib/api.js';
import { useEffect, useReducer, useRef } from '../../lib/preact.js';
import { empty, MOST_ROWS, reduce } from './tail-state.js';

const PAGE = 50;
/**
 * Records within this time are rendered together, so that a thousand per second do not cause a thousand renders.
 */
const FLUSH_MS = 200;

/** @import { Query } from 'requests' */

/** @typedef {import('./tail-state.js').Row} Row */
/** @typedef {import('./tail-state.js').TailAction} TailAction */
/**
 * @typedef {object} TailSource
 * @property {'/api/events' | '/api/calls' | '/api/audit'} path of the list in the API
 * @property {string} name the key of the list in the response
 * @property {Query<'/api/events'> | Query<'/api/calls'> | Query<'/api/audit'>} query the filters of the list
 * @property {string} stream address of the stream, with its filters
 * @property {(record: any) => Row} rowOf
 * @property {(record: any) => boolean} [accepts] for filters that the stream does not have
 */

/**
 * @param {TailSource} source
 * @param {{paused: boolean, off?: boolean}} options `off`: load nothing, because a filter is not valid or needs the
 *   history
 */
export function useTail(source, { paused, off = false }) {
  const [state, dispatch] = useReducer(reduce, undefined, empty);
  const held = useRef(paused);
  held.current = paused;
  const request = useRef(new AbortController());
  const query = { ...source.query, limit: PAGE };

  useEffect(() => {
    dispatch({ type: 'reset' });
    if (off) return undefined;
    request.current = new AbortController();
    return follow({ source, query, request: request.current, isPaused: () => held.current, dispatch });
  }, [source.stream, JSON.stringify(query), off]);
  useEffect(() => {
    if (!paused) dispatch({ type: 'resumed' });
  }, [paused]);

  const loadMore = async () => {
    const { signal } = request.current;
    try {
      const page = await api.get(source.path, { ...query, cursor: state.cursor }, { signal });
      if (!signal.aborted) dispatch({ type: 'older', ...partsOf(page, source) });
    } catch (error) {
      // The filter changed during the request: drop the response.
      if (!signal.aborted) throw error;
    }
  };
  return { ...state, loadMore };
}

/**
 * @param {object} options
 * @param {TailSource} options.source
 * @param {TailSource['query']} options.query
 * @param {AbortController} options.request aborted when the filter changes
 * @param {() => boolean} options.isPaused
 * @param {(action: TailAction) => void} options.dispatch
 */
function follow({ source, query, request, isPaused, dispatch }) {
  /** @type {Row[]} */
  let waiting = [];
  let timer = 0;
  const load = async () => {
    dispatch({ type: 'requested' });
    try {
      const page = await api.get(source.path, query, request);
      if (!request.signal.aborted) dispatch({ type: 'page', ...partsOf(page, source), paused: isPaused() });
    } catch (error) {
      if (!request.signal.aborted) dispatch({ type: 'failed', error });
    }
  };
  const flush = () => {
    timer = 0;
    dispatch({ type: 'received', rows: waiting, paused: isPaused() });
    waiting = [];
  };
  const stop = api.stream(
    source.stream,
    ({ type, data }) => {
      // The client fell behind the stream: load the missed records from the list.
      if (type === 'lagged') return void load();
      if (source.accepts && !source.accepts(data)) return undefined;
      waiting.unshift(source.rowOf(data));
      waiting.length = Math.min(waiting.length, MOST_ROWS);
      timer ||= window.setTimeout(flush, FLUSH_MS);
      return undefined;
    },
    (link, error) => {
      dispatch({ type: 'link', link, error });
      // The list is requested after the stream opened, so that no record is missed.
      if (link === 'open') void load();
    },
  );
  return () => {
    stop();
    request.abort();
    window.clearTimeout(timer);
  };
}

/** @param {any} page @param {TailSource} source */
function partsOf(page, source) {
  const { [source.name]: records, next_cursor: cursor, ...about } = page;
  return { rows: records.map(source.rowOf), cursor, about };
}
