/**
 * Keeps the params of the calls that this tab made, by trace id. A user can make such a call again even if the journal
 * has not recorded its params. The params are stored like drafts, so do not keep params that contain secrets.
 */
import { readDraft, storeDraft } from './draft.js';

const NAME = 'sent';
/** The maximum number of calls whose params are kept. */
const CALLS_MAX = 20;
/** The maximum number of characters of all kept params together. */
const SIZE_MAX = 200_000;

/** @typedef {{trace: string, params: string}} SentCall */

/** @param {string} trace @param {string} params */
export function keepSent(trace, params) {
  let size = 0;
  const kept = [{ trace, params }, ...all()].slice(0, CALLS_MAX).filter((call) => {
    size += call.params.length;
    return size <= SIZE_MAX;
  });
  storeDraft(NAME, kept);
}

/** The params of a call that this tab made, or null. @param {string | null} trace @returns {string | null} */
export function readSent(trace) {
  return all().find((call) => call.trace === trace)?.params ?? null;
}

/** @returns {SentCall[]} newest first */
const all = () => readDraft(NAME) ?? [];

/** A new trace id, and the header that sends it (W3C Trace Context). */
export function newTrace() {
  const hex = (/** @type {number} */ bytes) =>
    Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const trace = hex(16);
  return { trace, header: `00-${trace}-${hex(8)}-00` };
}
