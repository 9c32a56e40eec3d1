/** The target of an audit entry. */
import { can } from '../../lib/me.js';
import { ownName } from './names.js';

/** @import { AuditEntry } from 'api' */

/**
 * Target types that have a page, and the permissions of which one is enough to open it. If no permission is named,
 * every user can open the page.
 * @type {Record<string, [path: string, ...permissions: string[]]>}
 */
const PAGES = {
  user: ['/users/', 'manage_users'],
  script: ['/scripts/'],
  space: ['/spaces/', 'use_spaces', 'manage_spaces'],
  template: ['/templates?template=', 'manage_templates'],
  event_sink: ['/sinks/', 'manage_own_event_sinks'],
  event: ['/events/'],
  source: ['/sources?source=', 'use_spaces', 'manage_spaces'],
  schedule: ['/schedules?schedule=', 'use_spaces', 'manage_spaces'],
  oauth_client: ['/apps?app=', 'manage_users'],
};

/** @param {AuditEntry} entry */
export function pageOf(entry) {
  const [path, ...permissions] = PAGES[entry.target_type] ?? [];
  return path && !/[._]deleted$/.test(entry.action) && can(...permissions)
    ? path + encodeURIComponent(entry.target_id)
    : null;
}

/**
 * The name of the target; its whole id if no name is known.
 * @param {AuditEntry} entry
 * @param {Map<string, string>} names
 */
export function nameOf({ target_type: type, actor, detail, target_id: id }, names) {
  // A session has no name, and belongs to the user who signed in.
  return ownName(detail) ?? names.get(id) ?? (type === 'session' ? `of ${actor}` : id);
}
