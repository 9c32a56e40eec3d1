/** The last 24 hours of the user's own methods and sinks: one request for all rows of a list. */
import { plural } from './format.js';
import { useResource } from './resource.js';

/** @typedef {{values: number[], bad: number[], total: number, label: string}} Series */

const EVERY_MS = 60_000;

/** @returns {{methods: Map<string, Series>, sinks: Map<string, Series>} | null} methods by name, sinks by id */
export function useActivity() {
  const { data } = useResource('/api/stats/activity', { every: EVERY_MS });
  if (!data) return null;
  return {
    methods: new Map(
      data.methods.map((/** @type {any} */ one) => [one.method, seriesOf(one.calls, one.errors, 'call')]),
    ),
    sinks: new Map(data.sinks.map((/** @type {any} */ one) => [one.id, seriesOf(one.attempts, one.failed, 'attempt')])),
  };
}

/**
 * @param {number[]} values
 * @param {number[]} bad
 * @param {string} one
 * @returns {Series}
 */
function seriesOf(values, bad, one) {
  const sum = (/** @type {number[]} */ list) => list.reduce((all, value) => all + value, 0);
  const [total, failed] = [sum(values), sum(bad)];
  return { values, bad, total, label: `${plural(total, one)} in the last 24 hours, ${failed} failed` };
}
