/** Loads the stylesheets of pages, and requests all files of a page early. */
import { PAGE_FILES, STYLES_ARE_JOINED } from './page-files.js';

/** @type {Map<string, Promise<void>>} */
const loaded = new Map();
/** Addresses that were requested early. @type {Set<string>} */
const requested = new Set();

/**
 * Loads a stylesheet that only a few pages need: `await loadStyles('methods.css')` at the top of
 * a page's module, so that the page renders with it.
 * @param {string} name a file in styles/
 */
export function loadStyles(name) {
  if (STYLES_ARE_JOINED) return Promise.resolve();
  let ready = loaded.get(name);
  if (!ready) {
    ready = new Promise((resolve) => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = new URL(`../../styles/${name}`, import.meta.url).href;
      link.onload = () => resolve();
      // A page without styles is better than no page.
      link.onerror = () => resolve();
      document.head.append(link);
    });
    loaded.set(name, ready);
  }
  return ready;
}

/**
 * Requests all files of a page at once. Otherwise the browser would request the imports only after it has the page.
 * @param {string} page
 */
export function preloadPage(page) {
  for (const path of PAGE_FILES[page] ?? []) {
    const href = new URL(`../../${path}`, import.meta.url).href;
    if (requested.has(href)) continue;
    requested.add(href);
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.href = href;
    document.head.append(link);
  }
}
