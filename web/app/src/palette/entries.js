/** The entries of the command palette. */
import { api } from '../lib/api.js';
import { can } from '../lib/me.js';
import { hasWords } from '../lib/search.js';
import { sinkState } from '../lib/sinks.js';
import { spaceState } from '../lib/spaces.js';
import { setTheme } from '../lib/theme.js';
import { ROUTES } from '../routes.js';
import { overlay } from '../shortcuts.js';

/**
 * A page, a record or an action. Choosing the entry opens `href` or calls `run`.
 * `state` is the state of a record, if it has one.
 * @typedef {{kind: string, title: string, icon: string, href?: string, run?: () => void, state?: {tone:
 *   import('../ui/badge.js').Tone, label: string}}} Entry
 */

/** The maximum number of entries shown: in total, and of each kind except pages. */
const SHOWN_MAX = 30;
const KIND_MAX = 8;
/** The maximum number of records of each kind that are loaded. Methods are not loaded: the server searches them. */
const LOADED_MAX = 1_000;

const SINKS = ['manage_own_event_sinks', 'manage_global_event_sinks'];
const SPACES = ['use_spaces', 'manage_spaces'];

/**
 * @type {{kind: string, icon: string, path: '/api/event-sinks' | '/api/spaces' | '/api/scripts' | '/api/users',
 *   list: string, name?: string, href: string, needs?: string[], state?: (record: any) => Entry['state']}[]}
 */
const RECORDS = [
  {
    kind: 'Sink',
    icon: 'send',
    path: '/api/event-sinks',
    list: 'event_sinks',
    href: '/sinks/',
    needs: SINKS,
    state: sinkState,
  },
  {
    kind: 'Space',
    icon: 'box',
    path: '/api/spaces',
    list: 'spaces',
    href: '/spaces/',
    needs: SPACES,
    state: spaceState,
  },
  { kind: 'Script', icon: 'code', path: '/api/scripts', list: 'scripts', href: '/scripts/' },
  {
    kind: 'User',
    icon: 'users',
    path: '/api/users',
    list: 'users',
    name: 'username',
    href: '/users/',
    needs: ['manage_users'],
  },
];

/** The records that the user may see. A list that fails is left out. @param {AbortSignal} signal */
export async function loadRecords(signal) {
  const lists = RECORDS.filter((row) => can(...(row.needs ?? []))).map(async (row) => {
    /** @type {any} */
    const answer = await api.get(row.path, { limit: LOADED_MAX }, { signal }).catch(() => null);
    return (answer?.[row.list] ?? []).map((/** @type {any} */ one) => ({
      kind: row.kind,
      icon: row.icon,
      title: one[row.name ?? 'name'],
      href: row.href + one.id,
      state: row.state?.(one),
    }));
  });
  return /** @type {Entry[]} */ ((await Promise.all(lists)).flat());
}

/** @param {string} text @param {AbortSignal} signal @returns {Promise<Entry[]>} */
export async function searchMethods(text, signal) {
  if (!text) return [];
  const answer = await api.get('/api/methods', { q: text, limit: KIND_MAX }, { signal });
  return answer.methods.map((/** @type {{name: string}} */ { name }) => ({
    kind: 'Method',
    icon: 'function',
    title: name,
    href: `/methods/${encodeURIComponent(name)}`,
  }));
}

/** @returns {Entry[]} */
function pages() {
  return ROUTES.filter((row) => row.icon && can(...(row.needs ?? []))).map((row) => ({
    kind: 'Page',
    icon: row.icon ?? 'home',
    title: row.title,
    href: row.path,
  }));
}

/** @returns {Entry[]} */
function actions() {
  const all = [
    { title: 'New space', icon: 'plus', href: '/spaces?new=1', needs: SPACES },
    { title: 'New sink', icon: 'plus', href: '/sinks/new', needs: SINKS },
    { title: 'New script', icon: 'plus', href: '/scripts/new' },
    { title: 'New token', icon: 'plus', href: '/tokens?new=1' },
    { title: 'Account and sessions', icon: 'lock', href: '/account' },
    { title: 'Light theme', icon: 'sun', run: () => setTheme('light') },
    { title: 'Dark theme', icon: 'moon', run: () => setTheme('dark') },
    { title: 'Keys', icon: 'info', run: showKeys },
  ];
  return all
    .filter(({ needs }) => can(...(needs ?? [])))
    .map(({ needs: _, ...entry }) => ({ kind: 'Action', ...entry }));
}

function showKeys() {
  overlay.value = 'keys';
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The entries for a text, pages first. For a UUID, the only entry is the event with this id.
 * @param {string} text
 * @param {Entry[]} records
 * @param {Entry[]} methods the result of `searchMethods` for the text
 * @returns {Entry[]}
 */
export function find(text, records, methods) {
  const words = text.trim();
  if (UUID.test(words)) {
    const href = `/events/${words.toLowerCase()}`;
    return [{ kind: 'Event', icon: 'activity', title: words, href }];
  }
  const matching = (/** @type {Entry[]} */ list) => list.filter((entry) => hasWords(entry.title, words));
  const found = [...matching(pages()), ...methods, ...(words ? matching(records) : []), ...matching(actions())];
  /** @type {Map<string, number>} */
  const counts = new Map();
  return found
    .filter(({ kind }) => {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return kind === 'Page' || /** @type {number} */ (counts.get(kind)) <= KIND_MAX;
    })
    .slice(0, SHOWN_MAX);
}
