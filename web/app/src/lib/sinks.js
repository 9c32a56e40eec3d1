/** When a sink counts as failing. */
import { formatNumber } from './format.js';

/** @typedef {'webhook' | 'script' | 'json-rpc'} SinkType */
/**
 * @typedef {{n: number, event_id: string, event_type: string, state: string, at: string, error: string | null}}
 *   LastDelivery
 */
/**
 * @typedef {object} Sink
 * @property {string} id
 * @property {string} name
 * @property {string} description
 * @property {string[]} patterns
 * @property {SinkType} type
 * @property {'user' | 'global'} owner
 * @property {string} owner_id
 * @property {boolean} active
 * @property {{url: string, headers: Record<string, string>, body_template: string | null, secret?: string} | null}
 *   webhook
 * @property {{script_id: string | null, source: string | null} | null} script
 * @property {{body_template: string | null} | null} json_rpc
 * @property {{keep_exchanges?: boolean} | undefined} [delivery]
 * @property {number} queue_depth
 * @property {number} dropped
 * @property {number} [lost] dropped events that were not replayed
 * @property {number} [dead] dead deliveries that were not sent again
 * @property {number} failures
 * @property {LastDelivery | null} last_delivery
 * @property {string} created_at
 */

/** @param {Sink} sink */
export const isFailing = (sink) =>
  sink.failures > 0 || sink.last_delivery?.state === 'dead' || unrecovered(sink) !== '';

/**
 * The numbers of events that were lost and not sent again: "20 dead, 842 dropped".
 * @param {{dead?: number, lost?: number}} sink
 */
export function unrecovered({ dead = 0, lost = 0 }) {
  return [dead > 0 && `${formatNumber(dead)} dead`, lost > 0 && `${formatNumber(lost)} dropped`]
    .filter(Boolean)
    .join(', ');
}
