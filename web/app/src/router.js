/** The address bar: current page and filters. Pages navigate with ordinary links. */
import { computed, html, signal, useEffect, useMemo } from './lib/preact.js';
import { keepScroll, restoreScroll } from './lib/scroll.js';
import { findRoute } from './routes.js';

const address = signal({ pathname: location.pathname, search: location.search });

/** The requested page. */
export const route = computed(() => findRoute(address.value.pathname));
const pathname = computed(() => address.value.pathname);
const search = computed(() => address.value.search);

/** Called before the user leaves a page; true if the page has unsaved work. @type {Set<() => boolean>} */
const guards = new Set();
/** Like `guards`, but called only before the tab is closed or reloaded. @type {Set<() => boolean>} */
const closing = new Set();

/** Index of the current entry among the entries of this app in the browser history; each entry stores its index. */
let place = placeOf(history.state);

/**
 * @param {string} href
 * @param {{replace?: boolean, asked?: boolean}} [options] `asked`: the user already confirmed that unsaved work may be
 *   lost
 */
export function navigate(href, { replace = false, asked = false } = {}) {
  const target = new URL(href, location.href);
  if (!asked && target.pathname !== location.pathname && !mayLeave()) return;
  const moved = target.pathname !== address.value.pathname;
  keepScroll(place);
  if (replace || target.href === location.href) history.replaceState({ place }, '', target);
  else history.pushState({ place: ++place }, '', target);
  read();
  if (target.hash) document.getElementById(target.hash.slice(1))?.scrollIntoView();
  else if (moved) window.scrollTo(0, 0);
}

/** Whether the page may be left: nothing is unsaved, or the user confirmed. */
export function mayLeave() {
  const held = [...guards].some((guard) => guard());
  return !held || window.confirm('Leave without saving? Your changes will be lost.');
}

/** @param {any} state */
function placeOf(state) {
  return Number.isInteger(state?.place) ? state.place : 0;
}

/**
 * When the browser reports Back or Forward, it has already changed the address. To stay on the page, the router
 * undoes this change.
 * @param {PopStateEvent} event
 */
function onPop(event) {
  const target = placeOf(event.state);
  if (target !== place && location.pathname !== address.value.pathname && !mayLeave()) {
    history.go(place - target);
    return;
  }
  keepScroll(place);
  place = target;
  read();
  restoreScroll(place);
}

function read() {
  if (address.value.pathname === location.pathname && address.value.search === location.search) return;
  address.value = { pathname: location.pathname, search: location.search };
}

/** Makes links to our pages navigate without reloading the document. */
export function startRouter() {
  history.replaceState({ place }, '');
  // The browser would scroll before the page has its data.
  history.scrollRestoration = 'manual';
  restoreScroll(place);
  window.addEventListener('pagehide', () => keepScroll(place));
  window.addEventListener('popstate', onPop);
  window.addEventListener('beforeunload', (event) => {
    if ([...guards, ...closing].some((guard) => guard())) event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || !isPage(link)) return;
    event.preventDefault();
    navigate(link.href);
  });
}

/** @param {HTMLAnchorElement} link */
function isPage(link) {
  if (link.target || link.hasAttribute('download') || link.origin !== location.origin) return false;
  if (link.getAttribute('href')?.startsWith('#')) return false;
  return !/^\/(api|web|metrics|healthz|readyz)(\/|$)/.test(link.pathname);
}

/**
 * A link that marks the current page with `aria-current`.
 * @param {{href: string, class?: string, children?: any, [key: string]: any}} props
 */
export function Link({ href, children, ...rest }) {
  const here = pathname.value;
  const target = href.split('?')[0];
  const current = target === '/' ? here === '/' : here === target || here.startsWith(`${target}/`);
  return html`
    <a href=${href} aria-current=${current ? (here === target ? 'page' : 'true') : undefined} ...${rest}>${children}</a>
  `;
}

/**
 * Filters in the query string.
 * @returns {{get: (name: string, fallback?: string) => string, all: Record<string, string>, set: (values:
 *   Record<string, string | number | boolean | null | undefined>, options?: {push?: boolean}) => void}}
 *   `set` keeps other filters; null, false and '' remove a filter
 */
export function useQuery() {
  const text = search.value;
  return useMemo(() => {
    const params = new URLSearchParams(text);
    return {
      get: (/** @type {string} */ name, fallback = '') => params.get(name) ?? fallback,
      all: Object.fromEntries(params),
      set: setQuery,
    };
  }, [text]);
}

/**
 * @param {Record<string, string | number | boolean | null | undefined>} values
 * @param {{push?: boolean}} [options]
 */
function setQuery(values, { push = false } = {}) {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '' || value === false) params.delete(name);
    else params.set(name, String(value));
  }
  const text = params.toString();
  navigate(location.pathname + (text ? `?${text}` : ''), { replace: !push });
}

/** The order of a table, in the query string. @returns {import('./ui/table.js').Sorting} */
export function useSorting() {
  const query = useQuery();
  return { order: query.get('sort'), onOrder: (order) => query.set({ sort: order }) };
}

/**
 * While `dirty`, the user must confirm leaving the page.
 * @param {boolean} dirty
 * @param {{stored?: boolean}} [options] `stored`: the tab stores the draft, so only closing or reloading the
 *   tab must be confirmed
 */
export function useUnsaved(dirty, { stored = false } = {}) {
  useEffect(() => {
    if (!dirty) return undefined;
    const guard = () => true;
    const held = stored ? closing : guards;
    held.add(guard);
    return () => void held.delete(guard);
  }, [dirty, stored]);
}

/** Opens the sign-in page. After the sign-in, it returns to the current page. */
export function goToLogin() {
  if (['/login', '/sign-in', '/setup'].includes(location.pathname)) return;
  guards.clear();
  closing.clear();
  const here = location.pathname + location.search;
  navigate(here === '/' ? '/login' : `/login?next=${encodeURIComponent(here)}`, { replace: true });
}
