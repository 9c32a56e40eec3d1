/** Users and the names they can be given: what the pages about people share. */
import { can } from '../../lib/me.js';
import { useList, useResource } from '../../lib/resource.js';

/**
 * @typedef {{id: string, username: string, roles: string[], groups: string[], active: boolean, created_at: string,
 *   quotas?: Record<string, number>}} User
 */

/** Filters look at users that are loaded, so many are loaded at once. */
const PAGE = 1_000;

/** All users; none are asked for without the permission. */
export function useUsers() {
  return useList(can('manage_users') ? '/api/users' : null, 'users', { query: { limit: PAGE }, every: 10_000 });
}

/**
 * The names there are, for a choice. Without the permission to list them: those that are in use.
 * @param {'roles' | 'groups'} what
 * @param {User[]} users
 * @returns {string[]}
 */
export function useNames(what, users) {
  const allowed = can(what === 'roles' ? 'manage_roles' : 'manage_groups');
  const list = useResource(allowed ? `/api/${what}?limit=${PAGE}` : null, { every: 30_000 });
  const known = (list.data?.[what] ?? []).map((/** @type {{name: string}} */ one) => one.name);
  const always = what === 'roles' ? ['admin', 'user'] : [];
  return [...new Set([...known, ...always, ...users.flatMap((user) => user[what])])].sort((a, b) => a.localeCompare(b));
}
