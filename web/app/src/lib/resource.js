/** Data on a page: loaded, kept fresh while somebody looks, kept on screen while it reloads. */
import { api, withQuery } from './api.js';
import { useEffect, useMemo, useRef, useState } from './preact.js';

/** How long nothing may happen before a spinner says that something does. */
export const SLOW_MS = 300;

/** @typedef {import('./api.js').ApiError} ApiError */
/**
 * @template T
 * @typedef {object} Resource
 * @property {T | null} data the last good answer, also while a newer one is fetched
 * @property {ApiError | null} error of the last attempt
 * @property {boolean} loading
 * @property {boolean} slow loading for longer than 300 ms with nothing to show yet
 * @property {() => Promise<void>} reload
 * @property {(data: T) => void} set puts an answer in place, for instance one a PATCH gave
 */

/**
 * @template [T=any]
 * @param {string | null | ((signal: AbortSignal) => Promise<T>)} source a path of the API, a function, or null for "not now"
 * @param {object} [options]
 * @param {number} [options.every] milliseconds between reloads while the tab is visible
 * @param {any[]} [options.deps] for a function: load again when one of these changes
 * @returns {Resource<T>}
 */
export function useResource(source, { every = 0, deps = [] } = {}) {
  const [state, setState] = useState({ data: /** @type {T | null} */ (null), error: /** @type {ApiError | null} */ (null), loading: source !== null });
  const [slow, setSlow] = useState(false);
  const latest = useRef(source);
  latest.current = source;
  const running = useRef(/** @type {AbortController | null} */ (null));
  const key = typeof source === 'function' ? deps : [source];

  const load = useMemo(() => async () => {
    const ask = latest.current;
    if (ask === null) return;
    running.current?.abort();
    const request = new AbortController();
    running.current = request;
    setState((old) => (old.loading ? old : { ...old, loading: true }));
    try {
      const data = typeof ask === 'string' ? await api.get(ask, undefined, { signal: request.signal }) : await ask(request.signal);
      if (!request.signal.aborted) setState((old) => settled(old, data));
    } catch (error) {
      if (!request.signal.aborted) setState((old) => ({ ...old, error: /** @type {ApiError} */ (error), loading: false }));
    }
  }, []);

  useEffect(() => {
    void load();
    const stop = every > 0 ? poll(load, every) : () => {};
    return () => {
      stop();
      running.current?.abort();
    };
  }, [...key, every]);

  const waiting = state.loading && state.data === null;
  useEffect(() => {
    if (!waiting) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [waiting]);

  const set = useMemo(() => (/** @type {T} */ data) => setState({ data, error: null, loading: false }), []);
  return { ...state, slow: slow && waiting, reload: load, set };
}

/**
 * The same answer again keeps the old object, so that nothing is drawn anew.
 * @template T
 * @param {{data: T | null, error: ApiError | null, loading: boolean}} old
 * @param {T} data
 */
function settled(old, data) {
  const same = old.data !== null && JSON.stringify(old.data) === JSON.stringify(data);
  return { data: same ? old.data : data, error: null, loading: false };
}

/**
 * Calls `load` regularly while the tab is visible, and at once when it becomes visible again.
 * @param {() => Promise<void>} load
 * @param {number} every
 */
export function poll(load, every) {
  let timer = 0;
  let stopped = false;
  const next = () => {
    window.clearTimeout(timer);
    if (!stopped && document.visibilityState === 'visible') timer = window.setTimeout(tick, every);
  };
  const tick = () => void load().finally(next);
  const onVisible = () => (document.visibilityState === 'visible' ? tick() : window.clearTimeout(timer));
  document.addEventListener('visibilitychange', onVisible);
  next();
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisible);
  };
}

/**
 * A list of the API, page by page: `{"<name>": […], "next_cursor": …}`. Polling renews the first
 * page; what was loaded behind it stays.
 * @template [T=any]
 * @param {string | null} path
 * @param {string} name the key of the list in the answer
 * @param {object} [options]
 * @param {import('./api.js').Query} [options.query]
 * @param {number} [options.every]
 * @param {(item: T) => string} [options.id]
 */
export function useList(path, name, { query = {}, every = 0, id = (item) => /** @type {any} */ (item).id } = {}) {
  const address = path === null ? null : withQuery(path, query);
  const first = useResource(address, { every });
  const [rest, setRest] = useState({ address, items: /** @type {T[]} */ ([]), cursor: /** @type {string | null | undefined} */ (undefined) });
  const [more, setMore] = useState({ busy: false, error: /** @type {ApiError | null} */ (null) });

  // Pages loaded behind another question do not belong to this one.
  const behind = rest.address === address ? rest : { address, items: [], cursor: undefined };
  const cursor = behind.cursor === undefined ? first.data?.next_cursor ?? null : behind.cursor;
  const items = useMemo(() => (first.data ? merge(first.data[name], behind.items, id) : null), [first.data, behind.items]);

  const loadMore = async () => {
    if (address === null || !cursor || more.busy) return;
    setMore({ busy: true, error: null });
    try {
      const page = await api.get(address, { cursor });
      setRest({ address, items: [...behind.items, ...page[name]], cursor: page.next_cursor });
      setMore({ busy: false, error: null });
    } catch (error) {
      setMore({ busy: false, error: /** @type {ApiError} */ (error) });
    }
  };
  const reload = async () => {
    setRest({ address, items: [], cursor: undefined });
    await first.reload();
  };
  return { ...first, reload, items: /** @type {T[] | null} */ (items), hasMore: Boolean(cursor), loadMore, loadingMore: more.busy, moreError: more.error };
}

/**
 * @template T
 * @param {T[]} first
 * @param {T[]} rest
 * @param {(item: T) => string} id
 */
function merge(first, rest, id) {
  const seen = new Set(first.map(id));
  return [...first, ...rest.filter((item) => !seen.has(id(item)))];
}
