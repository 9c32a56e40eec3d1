/** The signed-in user and their permissions. */
import { ApiError, api, sessionEnded } from './api.js';
import { signal } from './preact.js';
import { setStreamUser } from './shared-stream.js';

/** @import { Me, PendingLogin } from 'api' */

/** Null before the first answer and after signing out. @type {import('./preact.js').Signal<Me | null>} */
export const me = signal(/** @type {Me | null} */ (null));

/** Whether the user may create spaces that the server runs itself. */
export const localSpaces = signal(false);

/** For a permission, the permissions that include it. @type {Record<string, string[]>} */
const CONTAINED_IN = { manage_own_event_sinks: ['manage_global_event_sinks'] };

/**
 * Whether the user has any of these permissions; true for an empty list. The result only hides buttons: the server
 * enforces permissions.
 * @param {...string} permissions
 */
export function can(...permissions) {
  /** @type {string[]} */
  const held = me.value?.permissions ?? [];
  const has = (/** @type {string} */ name) => held.includes(name);
  return permissions.length === 0 || permissions.some((name) => has(name) || (CONTAINED_IN[name] ?? []).some(has));
}

/**
 * Loads the signed-in user. Uses a route that also answers without a session, because a 401 would appear as an error in
 * the browser's console.
 * @returns {Promise<Me>}
 */
export async function loadMe() {
  const state = await api.get('/api/auth/state');
  if (state.me !== null) return acceptState(state.me, state.local_spaces);
  if (await sessionEnded()) return /** @type {Me} */ (me.value);
  throw new ApiError({ status: 401, code: 'unauthorized', detail: 'You are not signed in.' });
}

/**
 * Stores the answer of the server about a signed-in user.
 * @param {Me} loaded
 * @param {boolean} local whether the user may create spaces that the server runs itself
 */
export function acceptState(loaded, local) {
  localSpaces.value = local;
  setStreamUser(loaded.id);
  // Roles may change while a page is open; an unchanged response must not render all components again.
  if (JSON.stringify(loaded) !== JSON.stringify(me.value)) me.value = loaded;
  return loaded;
}

/**
 * @param {string} username
 * @param {string} password
 * @returns {Promise<PendingLogin | null>} null once the user is signed in
 */
export async function signIn(username, password) {
  const answer = await api.post('/api/auth/login', { username, password }, { anonymous: true });
  // A user who is signed in has this member too. It says whether a second factor is set up.
  if (typeof answer.second_factor === 'object') return answer.second_factor;
  await loadMe();
  return null;
}

/**
 * The second step of a login.
 * @param {string} token
 * @param {string} code
 */
export async function completeSignIn(token, code) {
  await api.post('/api/auth/second-factor', { token, code }, { anonymous: true });
  return loadMe();
}

/** Whether the user must set up a second factor before anything else. */
export function mustEnrol() {
  return me.value?.credential === 'enrolment';
}

/**
 * Signs in with the token of a one-click link.
 * @param {string} token
 */
export async function signInWithLink(token) {
  await api.post('/api/auth/sign-in', { token }, { anonymous: true });
  return loadMe();
}

export async function signOut() {
  await api.post('/api/auth/logout', undefined, { anonymous: true });
  me.value = null;
}
