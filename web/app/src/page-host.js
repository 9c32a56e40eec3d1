/** Loads and shows the page of the current route, or the reason why it cannot be shown. */
import { alertCount } from './lib/alerts.js';
import { notLoaded } from './lib/errors.js';
import { can, me, mustEnrol } from './lib/me.js';
import { effect, html, signal, useEffect, useErrorBoundary, useRef, useState } from './lib/preact.js';
import { SLOW_MS } from './lib/resource.js';
import { nextWait } from './lib/retry.js';
import { route } from './router.js';
import { ENROL, FORBIDDEN } from './routes.js';
import { PageError } from './ui/error-notice.js';
import { Loading } from './ui/spinner.js';

/** @typedef {import('./routes.js').Route} Route */

const pageName = signal('');
// The number of failing sinks and spaces comes first: a narrow tab shows the start of its title.
effect(() => {
  const alert = alertCount.value > 0 ? `(${alertCount.value}) ` : '';
  if (pageName.value) document.title = `${alert}${pageName.value} · svc`;
});

export function PageHost() {
  const current = permittedRoute(route.value);
  const [shown, setShown] = useState(/** @type {{route: Route, Page: any} | null} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [slow, setSlow] = useState(false);
  const key = pageKey(current);

  useEffect(() => {
    let stale = false;
    let again = 0;
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    setFailure(null);
    const load = (/** @type {number} */ wait) =>
      current
        .load()
        .then(
          (module) => {
            if (stale) return;
            setFailure(null);
            setShown({ route: current, Page: module.default });
          },
          (error) => {
            if (stale) return;
            setFailure(notLoaded(error));
            again = window.setTimeout(() => load(nextWait(wait)), wait);
          },
        )
        .finally(() => {
          clearTimeout(timer);
          if (!stale) setSlow(false);
        });
    void load(nextWait());
    return () => {
      stale = true;
      clearTimeout(timer);
      clearTimeout(again);
    };
  }, [key]);

  useTitle(current, shown !== null && pageKey(shown.route) === key);

  if (failure) return html`<${PageError} error=${failure} title="This page could not be loaded" retries />`;
  if (!shown || (slow && pageKey(shown.route) !== key)) return slow ? html`<${Loading} />` : null;
  return html`<${PageBoundary} key=${pageKey(shown.route)} Page=${shown.Page} route=${shown.route} />`;
}

/** One component instance per address: a page for another id starts without the old state. @param {Route} of */
function pageKey(of) {
  return `${of.title} ${of.pathname}`;
}

/** @param {Route} requested @returns {Route} */
function permittedRoute(requested) {
  if (mustEnrol() && !requested.open) return { ...requested, ...ENROL };
  if (requested.open || !me.value || can(...(requested.needs ?? []))) return requested;
  return { ...requested, ...FORBIDDEN };
}

/** An error in a page leaves the navigation usable. @param {{Page: any, route: Route}} props */
function PageBoundary({ Page, route: shown }) {
  const [error, reset] = useErrorBoundary();
  if (error) return html`<${PageError} error=${error} title="This page failed" onRetry=${reset} />`;
  return html`<${Page} route=${shown} />`;
}

/**
 * Sets the window title. After navigation, focuses the heading unless the page has focused one of its elements, so that
 * a screen reader announces the page and Tab continues from there.
 * @param {Route} current
 * @param {boolean} ready
 */
function useTitle(current, ready) {
  const first = useRef(true);
  useEffect(() => {
    if (!ready) return;
    pageName.value = current.title;
    if (first.current) {
      first.current = false;
      return;
    }
    const heading = document.querySelector('main h1');
    if (heading instanceof HTMLElement && !document.querySelector('main :focus')) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
  }, [ready, current.pathname]);
}

/** Sets the title of pages that are named after their data. @param {string | undefined} name */
export function useDocumentTitle(name) {
  useEffect(() => {
    if (name) pageName.value = name;
  }, [name]);
}
