/** Which event the API is asked to try something with. */
import { parseJson } from '../../lib/json.js';

/**
 * @typedef {{eventId: string, type: string, data: string}} Sample an `eventId` of '' means made up; `data` of '' leaves
 *   it to the server
 */

/**
 * The members of a body that name the event, as text: its data goes as it was typed, so that numbers
 * JavaScript would round stay what they are. Null while the data is no JSON.
 * @param {Sample} sample
 * @param {string} suggestion the type while none is typed
 * @returns {string | null}
 */
export function askWith(sample, suggestion) {
  if (sample.eventId) return `"event_id":${JSON.stringify(sample.eventId)}`;
  const type = `"event_type":${JSON.stringify(sample.type.trim() || suggestion)}`;
  const data = sample.data.trim();
  if (!data) return type;
  return parseJson(data).ok ? `${type},"data":${data}` : null;
}

/**
 * A body of these members and others.
 * @param {string} members
 * @param {Record<string, any>} others at least one
 * @returns {string}
 */
export function bodyWith(members, others) {
  return `${JSON.stringify(others).slice(0, -1)},${members}}`;
}
