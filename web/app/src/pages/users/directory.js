/** Users, roles and groups, as shared by the pages about users. */
import { withQuery } from '../../lib/api.js';
import { can } from '../../lib/me.js';
import { useList, useResource } from '../../lib/resource.js';

/** @import { User } from 'api' */

/** The page size. It is large, because filters search only loaded users. */
const PAGE = 1_000;

/** The users, page by page. Nothing is requested without the permission to manage users. */
export function useUsers() {
  return useList(can('manage_users') ? '/api/users' : null, 'users', { query: { limit: PAGE }, every: 10_000 });
}

/**
 * The names to choose from. Without the permission to list them: the built-in roles and the names in use.
 * @param {'roles' | 'groups'} what
 * @param {User[]} users
 * @returns {string[]}
 */
export function useNames(what, users) {
  const allowed = can(what === 'roles' ? 'manage_roles' : 'manage_groups');
  const list = useResource(
    allowed ? withQuery(what === 'roles' ? '/api/roles' : '/api/groups', { limit: PAGE }) : null,
    { every: 30_000 },
  );
  /** @type {{name: string}[]} */
  const known = /** @type {any} */ (list.data)?.[what] ?? [];
  const always = what === 'roles' ? ['admin', 'user'] : [];
  return [...new Set([...known.map((one) => one.name), ...always, ...users.flatMap((user) => user[what])])].sort(
    (a, b) => a.localeCompare(b),
  );
}
