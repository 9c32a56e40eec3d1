import { briefJson } from '../../lib/json.js';

/** @import { EventRecord } from 'api' */

/**
 * An event with only the beginning of its payload, which may be large.
 * @typedef {Omit<EventRecord, 'data' | 'event_id'> & {id: string, brief: string}} EventRow
 */

/** @param {EventRecord} event @returns {EventRow} */
export function rowOf({ data, event_id: id, ...event }) {
  return { ...event, id, brief: briefJson(data) };
}
