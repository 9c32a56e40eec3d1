/** Data of a page: loaded, refreshed while the tab is visible, and still shown while it reloads. */
import { api, withQuery } from './api.js';
import { appendPage, mergeFirstPage } from './pages.js';
import { useEffect, useMemo, useRef, useState } from './preact.js';
import { isPassing, nextWait } from './retry.js';

/** Delay before a spinner appears. */
export const SLOW_MS = 300;

/** @typedef {import('./api.js').ApiError} ApiError */
/** @import { Address, Answer, ItemOf, ListOf, PathOf, Query } from 'requests' */

/**
 * @template T
 * @typedef {object} Resource
 * @property {T | null} data the last successful response, also while a new one loads; null if the first request for a
 *   new source failed
 * @property {boolean} current whether the data belongs to the current source, not to the previous one
 * @property {ApiError | null} error of the last attempt
 * @property {boolean} loading
 * @property {boolean} slow loading for longer than 300 ms with nothing to show yet
 * @property {() => Promise<void>} reload
 * @property {(data: T) => void} set replaces the data, for instance by the response to a PATCH; requests in progress
 *   are cancelled
 */

/**
 * @typedef {object} Options
 * @property {number} [every] milliseconds between reloads while the tab is visible
 * @property {any[]} [deps] for a function: load again when one of these changes
 */

/**
 * Loads a path of the API.
 * @template {PathOf<'get'>} P
 * @overload
 * @param {P | Address<P> | null} source null loads nothing
 * @param {Options} [options]
 * @returns {Resource<Answer<P>>}
 */
/**
 * Loads the result of a function.
 * @template T
 * @overload
 * @param {((signal: AbortSignal) => Promise<T>) | null} source
 * @param {Options} [options]
 * @returns {Resource<T>}
 */
/**
 * @template T
 * @param {any} source
 * @param {Options} [options]
 * @returns {any}
 */
export function useResource(source, { every = 0, deps = [] } = {}) {
  const [state, setState] = useState(
    /** @type {State<T>} */ ({ data: null, of: '', error: null, loading: source !== null }),
  );
  const [slow, setSlow] = useState(false);
  const key = typeof source === 'function' ? deps : [source];
  const sourceKey = JSON.stringify(key);
  const latest = useRef({ source, sourceKey });
  latest.current = { source, sourceKey };
  const running = useRef(/** @type {AbortController | null} */ (null));

  const load = useMemo(
    () => async () => {
      const { source: requested, sourceKey: of } = latest.current;
      if (requested === null) {
        // A request of the previous source was aborted and will not end `loading`.
        setState((old) => (old.loading ? { ...old, loading: false } : old));
        return;
      }
      running.current?.abort();
      const request = new AbortController();
      running.current = request;
      setState((old) => (old.loading ? old : { ...old, loading: true }));
      try {
        const data =
          typeof requested === 'string'
            ? await api.get(/** @type {PathOf<'get'>} */ (requested), undefined, { signal: request.signal })
            : await requested(request.signal);
        if (!request.signal.aborted) setState((old) => acceptData(old, data, of));
      } catch (error) {
        if (!request.signal.aborted)
          setState((old) => ({
            data: old.of === of ? old.data : null,
            of,
            error: /** @type {ApiError} */ (error),
            loading: false,
          }));
      }
    },
    [],
  );

  useEffect(() => {
    void load();
    const stop = every > 0 ? poll(load, every) : () => {};
    return () => {
      stop();
      running.current?.abort();
    };
  }, [...key, every]);

  // Data that could not be loaded because of a temporary error is requested again. Polling needs no extra retry.
  const lost = every === 0 && !state.loading && isPassing(state.error) && state.data === null;
  const wait = useRef(0);
  useEffect(() => {
    if (!state.error) wait.current = 0;
    if (!lost) return undefined;
    wait.current = nextWait(wait.current);
    return poll(load, wait.current);
  }, [lost, state.error]);

  const waiting = state.loading && state.data === null;
  useEffect(() => {
    if (!waiting) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [waiting]);

  const set = useMemo(
    () => (/** @type {T} */ data) => {
      // A response in transit may be older than the change that `data` contains.
      running.current?.abort();
      setState({ data, of: latest.current.sourceKey, error: null, loading: false });
    },
    [],
  );
  const { of, ...shown } = state;
  return { ...shown, current: of === sourceKey, slow: slow && waiting, reload: load, set };
}

/**
 * @template T
 * @typedef {{data: T | null, of: string, error: ApiError | null, loading: boolean}} State `of`: the source the data
 *   came from
 */

/**
 * An unchanged response keeps the old data object, so that values derived from it are not computed again.
 * @template T
 * @param {State<T>} old
 * @param {T} data
 * @param {string} of
 * @returns {State<T>}
 */
function acceptData(old, data, of) {
  const same = old.data !== null && JSON.stringify(old.data) === JSON.stringify(data);
  return { data: same ? old.data : data, of, error: null, loading: false };
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

/** The maximum number of rows of a list, after a second page was loaded. The list also grows by polling. */
const MAX_ROWS = 2_000;

/**
 * A list of the API, page by page: `{"<name>": […], "next_cursor": …}`. Polling reloads the first page. Rows of later
 * pages, and rows that move off the first page, stay.
 * @template {PathOf<'get'>} P
 * @template {ListOf<P>} N
 * @param {P | Address<P> | null} path
 * @param {N} name the key of the list in the response
 * @param {object} [options]
 * @param {Query<P>} [options.query]
 * @param {number} [options.every]
 * @param {(item: ItemOf<P, N>) => string} [options.id]
 */
export function useList(path, name, { query = {}, every = 0, id = (item) => /** @type {any} */ (item).id } = {}) {
  const address = path === null ? null : withQuery(path, query);
  const first = /** @type {Resource<any>} */ (useResource(address, { every }));
  // All rows shown, after a second page was loaded; the cursor is undefined before that.
  const none = {
    address,
    items: /** @type {ItemOf<P, N>[]} */ ([]),
    cursor: /** @type {string | null | undefined} */ (undefined),
  };
  const [rest, setRest] = useState(none);
  const [more, setMore] = useState({ busy: false, error: /** @type {ApiError | null} */ (null) });
  const currentAddress = useRef(address);
  currentAddress.current = address;

  // Ignore the later pages and the cursor of a previous address.
  const later = rest.address === address ? rest : none;
  const cursor = later.cursor !== undefined ? later.cursor : first.current ? (first.data?.next_cursor ?? null) : null;
  const items = useMemo(() => {
    if (!first.data) return null;
    return later.cursor === undefined || !first.current
      ? first.data[name]
      : mergeFirstPage(later.items, first.data[name], id);
  }, [first.data, first.current, later.items]);
  useEffect(() => {
    if (!first.data || !first.current) return;
    // Keep the rows of the first page: after the next reload it may not contain them.
    setRest((old) =>
      old.address === address && old.cursor !== undefined
        ? limitRows({ ...old, items: mergeFirstPage(old.items, first.data[name], id) })
        : old,
    );
  }, [first.data, first.current]);

  const loadMore = async () => {
    if (address === null || !cursor || more.busy) return;
    setMore({ busy: true, error: null });
    try {
      const page = /** @type {any} */ (await api.get(withQuery(address, /** @type {any} */ ({ cursor }))));
      setMore({ busy: false, error: null });
      if (currentAddress.current !== address) return;
      setRest((old) =>
        limitRows({
          address,
          items: appendPage(
            old.address === address && old.cursor !== undefined ? old.items : (items ?? []),
            page[name],
            id,
          ),
          cursor: page.next_cursor,
        }),
      );
    } catch (error) {
      setMore({ busy: false, error: /** @type {ApiError} */ (error) });
    }
  };
  const reload = async () => {
    setRest(none);
    await first.reload();
  };
  return {
    ...first,
    reload,
    items: /** @type {ItemOf<P, N>[] | null} */ (items),
    hasMore: Boolean(cursor),
    loadMore,
    loadingMore: more.busy,
    moreError: more.error,
  };
}

/**
 * @template {{items: any[], cursor: string | null | undefined}} R
 * @param {R} rest
 * @returns {R}
 */
function limitRows(rest) {
  return rest.items.length > MAX_ROWS ? { ...rest, items: rest.items.slice(0, MAX_ROWS), cursor: null } : rest;
}
