/** The sinks whose deliveries fail. The navigation and the tab's title show their number on every page. */
import { api } from './api.js';
import { can, me } from './me.js';
import { computed, signal } from './preact.js';
import { isFailing } from './sinks.js';

/** The maximum number of sinks that are checked. */
const SINKS_MAX = 1_000;

/** The active sinks that the user manages and that fail; null before they are loaded. */
export const failingSinks = signal(/** @type {import('./sinks.js').Sink[] | null} */ (null));

/** The number of failing sinks. */
export const failingCount = computed(() => (me.value ? (failingSinks.value?.length ?? 0) : 0));

/** Loads the failing sinks, for users who manage sinks. */
export async function loadAlerts() {
  if (!me.value || !can('manage_own_event_sinks')) return;
  const { event_sinks: sinks } = await api.get('/api/event-sinks', { limit: SINKS_MAX });
  failingSinks.value = sinks.filter((/** @type {import('./sinks.js').Sink} */ sink) => sink.active && isFailing(sink));
}
