/** The sinks whose deliveries fail. The navigation and the tab's title show their number on every page. */
import { api } from './api.js';
import { can, me } from './me.js';
import { computed, signal } from './preact.js';

/**
 * A sink in the answer of `GET /api/stats`.
 * @typedef {object} FailingSink
 * @property {string} id
 * @property {string} name
 * @property {'user' | 'global'} owner
 * @property {string} state of the retried delivery (`pending`), or of the newest finished one
 * @property {string} event_type of that delivery; '' if no delivery is recorded
 * @property {string | null} error
 * @property {string | null} at
 * @property {number} dead deliveries that were not sent again
 * @property {number} lost dropped events that were not replayed
 */

/** The failing sinks that the user manages, at most 100, and their number; null before they are loaded. */
export const failingSinks = signal(/** @type {{sinks: FailingSink[], total: number} | null} */ (null));

/** The number of failing sinks. */
export const failingCount = computed(() => (me.value ? (failingSinks.value?.total ?? 0) : 0));

/** Takes the failing sinks from an answer of `GET /api/stats`. @param {any} stats */
export function acceptAlerts(stats) {
  if (stats.sinks) failingSinks.value = { sinks: stats.sinks.failing, total: stats.sinks.failing_total };
}

/** Loads the failing sinks, for users who manage sinks. */
export async function loadAlerts() {
  if (!me.value || !can('manage_own_event_sinks')) return;
  acceptAlerts(await api.get('/api/stats'));
}
