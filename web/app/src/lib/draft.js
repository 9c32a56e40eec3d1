/**
 * Unsaved texts of a page in the session storage of the tab, so that they survive a reload, Back, and a sign-in at
 * another site. A draft must never contain a secret. A draft belongs to one user. It is removed when it is saved or
 * discarded, or when the user signs out.
 */
import { me } from './me.js';
import { useEffect, useRef, useState } from './preact.js';

const PREFIX = 'svc.draft.';
/** The maximum number of drafts of a tab. A further draft replaces the first draft in the order of the storage. */
const DRAFTS_MAX = 30;
/** The maximum number of characters of a draft. A longer draft is not stored. */
const SIZE_MAX = 500_000;
/** Pause in typing before a draft is stored. */
const PAUSE_MS = 300;
/** Sign-outs since the tab was loaded. */
let signOuts = 0;

/**
 * A state that is stored while it differs from `initial`.
 * @template T
 * @param {string | null} name of the draft, for example the address of the page; null to store nothing
 * @param {T} initial
 * @param {{omit?: (keyof T)[]}} [options] `omit`: members that are never stored, because they may be secrets; they have
 *   their initial values again after a reload
 * @returns {[T, (next: T | ((old: T) => T)) => void, (saved?: T) => void]} the state, its setter, and a function that
 *   forgets the stored draft: from then on, the state is stored while it differs from `saved` (by default the current
 *   state)
 */
export function useStoredDraft(name, initial, { omit = [] } = {}) {
  const key = name === null ? null : keyOf(name);
  const [state, setState] = useState(() => restore(key, initial, omit));
  const first = useRef(textOf(initial, omit));
  const text = textOf(state, omit);
  // Set here and not in the effect, which runs only after the browser has painted: the page may be left before that.
  const latest = useRef(text);
  latest.current = text;
  const pending = useRef(/** @type {() => void} */ (() => {}));
  const began = useRef(signOuts);
  useEffect(() => {
    if (key === null) return undefined;
    const store = () => {
      // The page of a user who has signed out still exists for a moment, and must not store its draft again.
      if (began.current !== signOuts || latest.current === first.current) sessionStorage.removeItem(key);
      else write(key, latest.current);
    };
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
    first.current = textOf(saved, omit);
    if (key === null) return;
    pending.current = () => sessionStorage.removeItem(key);
    pending.current();
  };
  return [state, setState, forget];
}

/**
 * @template T
 * @param {string | null} key
 * @param {T} initial
 * @param {(keyof T)[]} omit
 * @returns {T}
 */
function restore(key, initial, omit) {
  const stored = key === null ? null : read(key);
  if (stored === null) return initial;
  return omit.length > 0 ? { ...initial, ...stored } : stored;
}

/**
 * @template T
 * @param {T} state
 * @param {(keyof T)[]} omit
 */
function textOf(state, omit) {
  if (omit.length === 0) return JSON.stringify(state);
  const kept = Object.entries(/** @type {any} */ (state)).filter(([name]) => !omit.includes(/** @type {any} */ (name)));
  return JSON.stringify(Object.fromEntries(kept));
}

/** @param {string} name */
const keyOf = (name) => `${PREFIX}${me.value?.id}.${name}`;

/** The stored draft of this name, or null. @param {string} name @returns {any} */
export const readDraft = (name) => read(keyOf(name));

/** Stores a draft for a page that is opened later. @param {string} name @param {any} value */
export const storeDraft = (name, value) => write(keyOf(name), JSON.stringify(value));

/** Removes all drafts of this tab, because the user signed out. */
export function forgetDrafts() {
  signOuts += 1;
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
