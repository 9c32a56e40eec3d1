/** What fails: sinks and spaces. The navigation and the tab's title show the numbers on every page. */
import { api } from './api.js';
import { can, me } from './me.js';
import { computed, signal } from './preact.js';

/** @import { FailingSink, Space } from 'api' */

/** The failing sinks that the user manages, at most 100, and their number; null before they are loaded. */
export const failingSinks = signal(/** @type {{sinks: FailingSink[], total: number} | null} */ (null));
/** The failing spaces that the user sees, at most 100, and their number; null before they are loaded. */
export const failingSpaces = signal(/** @type {{spaces: Space[], total: number} | null} */ (null));

/** The numbers of failing records, by the path of their page in the navigation. */
export const alerts = computed(() => ({
  '/sinks': me.value ? (failingSinks.value?.total ?? 0) : 0,
  '/spaces': me.value ? (failingSpaces.value?.total ?? 0) : 0,
}));

/** The number of everything that fails. */
export const alertCount = computed(() => Object.values(alerts.value).reduce((sum, count) => sum + count, 0));

/** Takes what fails from an answer of `GET /api/stats`. @param {any} stats */
export function acceptAlerts({ sinks, spaces }) {
  if (sinks) failingSinks.value = { sinks: sinks.failing, total: sinks.failing_total };
  if (spaces) failingSpaces.value = { spaces: spaces.failing ?? [], total: spaces.failing_total ?? 0 };
}

/** Loads what fails, for users who manage sinks or spaces. */
export async function loadAlerts() {
  if (!me.value || !can('manage_own_event_sinks', 'use_spaces', 'manage_spaces')) return;
  acceptAlerts(await api.get('/api/stats'));
}
