/**
 * A method of `GET /api/methods`; fields that only the owner may see are null or empty for other users.
 * @typedef {object} Method
 * @property {string} name
 * @property {string | null} title
 * @property {string} description
 * @property {string[]} keywords
 * @property {'private' | 'shared'} scope
 * @property {boolean} mcp_tool
 * @property {string | null} mcp_tool_name
 * @property {Record<string, boolean>} annotations the hints that the publisher gave; others are absent
 * @property {any} params_schema
 * @property {any} result_schema
 * @property {'none' | 'outcome' | 'payloads'} journal what is recorded of each call
 * @property {string[]} [journal_redact] JSON pointers to values that are not recorded
 * @property {string} owner_id
 * @property {string} owner
 * @property {number} provider_count
 * @property {string | null} local_name
 * @property {string[] | null} groups
 * @property {string[] | null} events
 * @property {string[] | null} event_sinks
 * @property {number} [deleted_groups]
 * @property {Provider[] | null} providers
 */
/**
 * @typedef {{space_id: string, space: string, in_flight: number, state: 'ready' | 'restarting' | 'unlinked'}} Provider
 */

/** Calls in flight; null if the user is not the owner, or no space offers the method. @param {Method} method */
export function inFlight(method) {
  if (!method.providers?.length) return null;
  return method.providers.reduce((sum, provider) => sum + provider.in_flight, 0);
}
