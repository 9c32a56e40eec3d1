/**
 * Unsaved texts of a page in the session storage of the tab, so that they survive a reload, Back, and a sign-in at
 * another site. Never use it for secrets. A draft belongs to one user. It is removed when it is saved or discarded, or
 * when the user signs out.
 */
import { me } from './me.js';
import { useEffect, useRef, useState } from './preact.js';

const PREFIX = 'svc.draft.';
/** The maximum number of drafts of a tab. A new draft above it replaces the first one in the order of the storage. */
const DRAFTS_MAX = 30;
/** Characters of one draft; larger ones are not stored. */
const SIZE_MAX = 500_000;
/** Pause in typing before a draft is stored. */
const PAUSE_MS = 300;

/**
 * A state that is stored while it differs from `initial`.
 * @template T
 * @param {string} name of the draft, for example the address of the page
 * @param {T} initial
 * @returns {[T, (next: T | ((old: T) => T)) => void, (saved?: T) => void]} the state, its setter, and a function that
 *   forgets the stored draft: from then on, `saved` (by default the state) is the text without changes
 */
export function useStoredDraft(name, initial) {
  const key = `${PREFIX}${me.value?.id}.${name}`;
  const [state, setState] = useState(() => /** @type {T} */ (read(key) ?? initial));
  const first = useRef(JSON.stringify(initial));
  const text = JSON.stringify(state);
  const pending = useRef(/** @type {() => void} */ (() => {}));
  useEffect(() => {
    const store = () => (text === first.current ? sessionStorage.removeItem(key) : write(key, text));
    pending.current = store;
    const timer = setTimeout(store, PAUSE_MS);
    // Also stores the draft if the page is left or reloaded during the pause.
    const leave = () => pending.current();
    window.addEventListener('pagehide', leave);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('pagehide', leave);
    };
  }, [text, key]);
  useEffect(() => () => pending.current(), []);
  const forget = (/** @type {T} */ saved = state) => {
    first.current = JSON.stringify(saved);
    pending.current = () => sessionStorage.removeItem(key);
    pending.current();
  };
  return [state, setState, forget];
}

/** Removes all drafts of this tab. */
export function forgetDrafts() {
  for (const key of stored()) sessionStorage.removeItem(key);
}

/** @param {string} key @returns {any} */
function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} text */
function write(key, text) {
  if (text.length > SIZE_MAX) return;
  if (sessionStorage.getItem(key) === null) {
    for (const old of stored().slice(0, -(DRAFTS_MAX - 1))) sessionStorage.removeItem(old);
  }
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // The storage is full: the text is still on the page.
  }
}

/** The keys of all drafts. */
function stored() {
  return Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX));
}
