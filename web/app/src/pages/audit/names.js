/** Names of the targets of audit entries, also of targets that were deleted. */
import { withQuery } from '../../lib/api.js';
import { can } from '../../lib/me.js';
import { useMemo } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';

/** @import { AuditEntry } from 'api' */

/**
 * The lists from which names are read: the address, the key of the list in the response, and the permissions. The user
 * needs one of the permissions. If none is named, every user may read the list.
 */
const LISTS = /** @type {const} */ ([
  ['/api/users', 'users', ['manage_users']],
  ['/api/spaces', 'spaces', ['use_spaces', 'manage_spaces']],
  ['/api/event-sinks', 'event_sinks', ['manage_own_event_sinks']],
  ['/api/roles', 'roles', ['manage_roles']],
  ['/api/groups', 'groups', ['manage_groups']],
  ['/api/templates', 'templates', ['use_spaces', 'manage_spaces']],
  ['/api/scripts', 'scripts', []],
]);

/**
 * Names by id. They come from the existing records, and from the listed entries: the name of a deleted record is only
 * in an entry.
 * @param {AuditEntry[] | null} entries
 * @returns {Map<string, string>}
 */
export function useNames(entries) {
  const lists = LISTS.map(
    ([path, , permissions]) => useResource(can(...permissions) ? withQuery(path, { limit: 1000 }) : null).data,
  );
  return useMemo(() => {
    /** @type {Map<string, string>} */
    const names = new Map();
    for (const entry of entries ?? []) {
      const name = ownName(entry.detail);
      if (name !== null && !names.has(entry.target_id)) names.set(entry.target_id, name);
    }
    lists.forEach((data, index) => {
      /** @type {any[]} */
      const records = /** @type {any} */ (data)?.[LISTS[index][1]] ?? [];
      for (const one of records) names.set(one.id, one.username ?? one.name);
    });
    return names;
  }, [entries, ...lists]);
}

/** The name that an entry contains. @param {any} detail @returns {string | null} */
export function ownName(detail) {
  const name = detail?.name ?? detail?.username;
  return typeof name === 'string' ? name : null;
}
