/** Who is signed in, and what they may do. */
import { api, unauthorized } from './api.js';
import { signal } from './preact.js';

/**
 * @typedef {object} Me
 * @property {string} id
 * @property {string} username
 * @property {string[]} roles
 * @property {string[]} groups
 * @property {string[]} permissions
 * @property {string} credential
 * @property {Record<string, number>} [quotas] what the user may have on this server
 */

/** Null until known, and after signing out. @type {import('./preact.js').Signal<Me | null>} */
export const me = signal(/** @type {Me | null} */ (null));

/** What a permission contains besides itself. @type {Record<string, string[]>} */
const CONTAINED_IN = { manage_own_event_sinks: ['manage_global_event_sinks'] };

/**
 * Whether the caller has any of these permissions. With none named: yes. Hiding a button is
 * politeness; the server decides.
 * @param {...string} permissions
 */
export function can(...permissions) {
  const held = me.value?.permissions ?? [];
  const has = (/** @type {string} */ name) => held.includes(name);
  return permissions.length === 0 || permissions.some((name) => has(name) || (CONTAINED_IN[name] ?? []).some(has));
}

/**
 * Asks who is signed in, by the one route that also answers when nobody is: a refusal would be an
 * error in the browser's console.
 * @returns {Promise<Me>}
 */
export async function loadMe() {
  const { me: loaded } = await api.get('/api/auth/state');
  if (loaded === null) throw unauthorized();
  // Roles may change while a page is open; an unchanged answer must not draw everything anew.
  if (JSON.stringify(loaded) !== JSON.stringify(me.value)) me.value = loaded;
  return loaded;
}

/** @param {string} username @param {string} password */
export async function signIn(username, password) {
  await api.post('/api/auth/login', { username, password }, { anonymous: true });
  return loadMe();
}

export async function signOut() {
  await api.post('/api/auth/logout', undefined, { anonymous: true });
  me.value = null;
}
