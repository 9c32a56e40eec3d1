/**
 * Keys that work on every page: Ctrl+K opens the command palette, `/` goes to the search field (or opens the palette if
 * the page has no search field), `?` lists the keys, and `g` followed by a letter opens a page. They are off while
 * another dialog is open and, except for Ctrl+K, while the user types.
 */
import { can } from './lib/me.js';
import { signal } from './lib/preact.js';
import { navigate } from './router.js';
import { ROUTES } from './routes.js';

/** The open overlay of this module. @type {import('./lib/preact.js').Signal<'' | 'palette' | 'keys'>} */
export const overlay = signal(/** @type {'' | 'palette' | 'keys'} */ (''));

/** How long `g` waits for its letter. */
const PAUSE_MS = 1_500;

/** The page of each letter after `g`. @type {Record<string, string>} */
const LETTERS = {
  o: '/',
  m: '/methods',
  l: '/calls',
  p: '/spaces',
  t: '/tools',
  e: '/events',
  s: '/sinks',
  i: '/sources',
  d: '/schedules',
  c: '/scripts',
  k: '/tokens',
  u: '/users',
  r: '/roles',
  a: '/audit',
  z: '/servers',
};

/** The letters and their pages, without pages that the user may not see. */
export function pageKeys() {
  return Object.entries(LETTERS).flatMap(([letter, path]) => {
    const row = ROUTES.find((one) => one.path === path);
    return row && can(...(row.needs ?? [])) ? [{ keys: `g ${letter}`, path, title: row.title }] : [];
  });
}

/** Starts to listen for keys. Returns a function that stops listening. */
export function listenToKeys() {
  let until = 0;
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const wantsPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey;
    if (wantsPalette && (overlay.value === 'palette' || !isDialogOpen())) {
      event.preventDefault();
      overlay.value = overlay.value === 'palette' ? '' : 'palette';
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isDialogOpen() || isTyping(event.target)) return;
    const follows = Date.now() < until;
    until = 0;
    if (follows) {
      const found = pageKeys().find((one) => one.keys === `g ${event.key}`);
      if (found) {
        event.preventDefault();
        navigate(found.path);
      }
    } else if (event.key === 'g') until = Date.now() + PAUSE_MS;
    else if (event.key === '?') overlay.value = 'keys';
    else if (event.key === '/') {
      event.preventDefault();
      const search = document.querySelector('main input[type="search"]');
      if (search instanceof HTMLElement) search.focus();
      else overlay.value = 'palette';
    }
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

const isDialogOpen = () => document.querySelector('dialog[open]') !== null;

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
