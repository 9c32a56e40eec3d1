/** The event of a preview or a test, as members of the request. */
import { parseJson } from '../../lib/json.js';

/**
 * @typedef {{eventId: string, type: string, data: string}} Sample an empty `eventId` means a sample event; with empty
 *   `data` the server chooses the payload
 */

/**
 * The members of the body that describe the event, as text: the data is sent as typed, so that JavaScript rounds no
 * number. Null while the data is invalid JSON.
 * @param {Sample} sample
 * @param {string} suggestion the event type that is used if the user typed none
 * @returns {string | null}
 */
export function eventMembers(sample, suggestion) {
  if (sample.eventId) return `"event_id":${JSON.stringify(sample.eventId)}`;
  const type = `"event_type":${JSON.stringify(sample.type.trim() || suggestion)}`;
  const data = sample.data.trim();
  if (!data) return type;
  return parseJson(data).ok ? `${type},"data":${data}` : null;
}

/**
 * Builds a request body from the members of the event and other members.
 * @param {string} members
 * @param {Record<string, any>} others at least one
 * @returns {string}
 */
export function bodyWith(members, others) {
  return `${JSON.stringify(others).slice(0, -1)},${members}}`;
}
