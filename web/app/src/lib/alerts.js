/** The number of sinks that do not deliver. The navigation and the tab's title show it on every page. */
import { api } from './api.js';
import { can, me } from './me.js';
import { computed, signal } from './preact.js';

/** @typedef {{sinks: {failing: {state: string}[]} | null}} Numbers */

const numbers = signal(/** @type {Numbers | null} */ (null));

/** The number of sinks whose last delivery is dead or is retried. */
export const failingSinks = computed(() => (me.value ? (numbers.value?.sinks?.failing.length ?? 0) : 0));

/** Stores the numbers that the overview has loaded. The overview loads them more often. @param {Numbers} stats */
export function noteStats(stats) {
  numbers.value = stats;
}

/** Loads the numbers, for users who manage sinks. */
export async function loadAlerts() {
  if (!me.value || !can('manage_own_event_sinks')) return;
  numbers.value = await api.get('/api/stats');
}
