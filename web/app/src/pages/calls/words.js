/** Texts for recorded calls: the outcome, how the call reached the server, names. */
import { me } from '../../lib/me.js';

/** @import { Call } from 'api' */

/**
 * Words, tone and explanation of each outcome.
 * @type {Record<string, [string, import('../../ui/badge.js').Tone, string]>}
 */
const OUTCOMES = {
  ok: ['ok', 'good', 'The method returned a result.'],
  error: ['method error', 'bad', 'The method answered with an error.'],
  not_found: ['not found', 'bad', 'The caller sees no method of this name.'],
  unavailable: ['unavailable', 'bad', 'No space could take the call. The method did not run.'],
  timeout: ['timeout', 'bad', 'The method did not answer in time. It may have done its work.'],
  interrupted: ['interrupted', 'bad', 'The method server or its link ended. The method may have done its work.'],
  cancelled: ['cancelled', 'neutral', 'The caller left before the answer. The method may have done its work.'],
  notification: ['notification', 'neutral', 'Sent without waiting for an answer.'],
  notification_dropped: ['notification dropped', 'warn', 'A notification that no space could take.'],
};

/** The outcomes as options of a filter. */
export const OUTCOME_OPTIONS = Object.entries(OUTCOMES).map(([value, [label]]) => ({ value, label }));

/** How a call reached the server, as options of a filter. */
export const VIA_OPTIONS = [
  { value: 'api', label: 'API' },
  { value: 'batch', label: 'API batch' },
  { value: 'mcp', label: 'MCP' },
  { value: 'event', label: 'event' },
  { value: 'script', label: 'script' },
];

/** @param {string} outcome */
export function outcomeWords(outcome) {
  const [words, tone, about] = OUTCOMES[outcome] ?? [outcome, 'neutral', ''];
  return { words, tone, about };
}

/** @type {Record<string, string>} */
const OMISSIONS = {
  too_large: 'Not recorded: larger than the limit of the server.',
  unreadable: 'Not recorded: the JSON repeats a member or nests too deep.',
  dropped: 'Not recorded: too many bytes of params and results came in one second.',
};

/** Why a payload is missing. @param {string} why */
export const omissionWords = (why) => OMISSIONS[why] ?? `Not recorded: ${why}`;

/**
 * Whether a call failed. A sent notification and a call whose caller left have no answer, so they count as not failed.
 * @param {Call} call
 */
export const isFailure = ({ outcome }) => !['ok', 'notification', 'cancelled'].includes(outcome);

/** @param {string} via */
export const viaWords = (via) => VIA_OPTIONS.find(({ value }) => value === via)?.label ?? via;

/** @param {Call} call */
export const callerOf = ({ caller }) => caller ?? 'a deleted user';

/** The name by which the reader would call the method. @param {Call} call */
export function nameOfMethod({ method, outcome, owner, owner_id: ownerId }) {
  // The method is unknown, so this is the name that the caller sent.
  if (outcome === 'not_found') return method;
  if (ownerId === me.value?.id) return method;
  return owner ? `user.${owner}.${method}` : method;
}

/** The page of the method; null if the method was not found, or its owner was deleted. @param {Call} call */
export function pageOfMethod(call) {
  if (call.outcome === 'not_found' || !call.owner) return null;
  return `/methods/${encodeURIComponent(nameOfMethod(call))}`;
}
