/** What an entry of the audit log is about. */
import { shortId } from '../../lib/format.js';
import { can } from '../../lib/me.js';

/**
 * @typedef {{id: string, at: string, actor: string, action: string, target_type: string, target_id: string, detail:
 *   any}} Entry
 */

/**
 * Kinds of things with a page of their own, and who may see it.
 * @type {Record<string, [path: string, ...permissions: string[]]>}
 */
const PAGES = {
  user: ['/users/', 'manage_users'],
  script: ['/scripts/'],
  space: ['/spaces/', 'use_spaces', 'manage_spaces'],
  event_sink: ['/sinks/', 'manage_own_event_sinks'],
};

/** @param {Entry} entry */
export function pageOf(entry) {
  const [path, ...permissions] = PAGES[entry.target_type] ?? [];
  return path && !entry.action.endsWith('.deleted') && can(...permissions)
    ? path + encodeURIComponent(entry.target_id)
    : null;
}

/**
 * The name it had, where the entry kept one or the users are known.
 * @param {Entry} entry
 * @param {Map<string, string>} users
 */
export function nameOf({ detail, target_id: id }, users) {
  const name = detail?.name ?? detail?.username ?? users.get(id);
  if (typeof name === 'string') return name;
  return /^[0-9a-f-]{36}$/.test(id) ? shortId(id) : id;
}
