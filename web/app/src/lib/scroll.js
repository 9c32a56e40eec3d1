/** Scroll positions of the entries of the browser history, so that Back and a reload return to the same rows. */

const KEY = 'svc.scroll';
/** The maximum number of entries whose position is remembered. */
const ENTRIES_MAX = 50;
/** How long a page may take until it is high enough to scroll to its position. */
const LOADS_MS = 5_000;

/** @type {() => void} */
let stop = () => {};

/** @returns {Record<string, number>} */
function positions() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  } catch {
    return {};
  }
}

/** Remembers the position of an entry, before the page changes. @param {number} entry */
export function keepScroll(entry) {
  stop();
  const kept = Object.entries({ ...positions(), [entry]: Math.round(window.scrollY) });
  try {
    sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept.slice(-ENTRIES_MAX))));
  } catch {
    // The storage is full: Back starts at the top.
  }
}

/**
 * Scrolls to the position of an entry as soon as the page is high enough, unless the user scrolls first.
 * @param {number} entry
 */
export function restoreScroll(entry) {
  stop();
  const wanted = positions()[entry] ?? 0;
  if (wanted === 0) return window.scrollTo(0, 0);
  const page = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight < wanted + window.innerHeight) return;
    window.scrollTo(0, wanted);
    stop();
  });
  const timer = setTimeout(() => stop(), LOADS_MS);
  const gestures = ['wheel', 'touchmove', 'keydown', 'pointerdown'];
  stop = () => {
    page.disconnect();
    clearTimeout(timer);
    for (const name of gestures) window.removeEventListener(name, stop);
    stop = () => {};
  };
  for (const name of gestures) window.addEventListener(name, stop, { passive: true });
  page.observe(document.body);
  return undefined;
}
