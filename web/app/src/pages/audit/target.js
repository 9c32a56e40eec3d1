/** The target of an audit entry. */
import { shortId } from '../../lib/format.js';
import { can } from '../../lib/me.js';

/**
 * @typedef {{id: string, at: string, actor: string, action: string, target_type: string, target_id: string, detail:
 *   any}} Entry
 */

/**
 * Target types that have a page, and the permissions for it.
 * @type {Record<string, [path: string, ...permissions: string[]]>}
 */
const PAGES = {
  user: ['/users/', 'manage_users'],
  script: ['/scripts/'],
  space: ['/spaces/', 'use_spaces', 'manage_spaces'],
  event_sink: ['/sinks/', 'manage_own_event_sinks'],
  oauth_client: ['/apps?app=', 'manage_users'],
};

/** @param {Entry} entry */
export function pageOf(entry) {
  const [path, ...permissions] = PAGES[entry.target_type] ?? [];
  return path && !/[._]deleted$/.test(entry.action) && can(...permissions)
    ? path + encodeURIComponent(entry.target_id)
    : null;
}

/**
 * The name of the target, if the entry contains it or the user is known.
 * @param {Entry} entry
 * @param {Map<string, string>} users
 */
export function nameOf({ detail, target_id: id }, users) {
  const name = detail?.name ?? detail?.username ?? users.get(id);
  if (typeof name === 'string') return name;
  return /^[0-9a-f-]{36}$/.test(id) ? shortId(id) : id;
}
