/** The params with which a recorded call is made again. */
import { prettyJson } from '../../lib/json.js';

/** @import { Call } from 'api' */

/** The journal records this text instead of a value that `journal_redact` names. */
const REDACTED = '[redacted]';

/**
 * The params for the form of the method: those that this tab sent, or else the recorded ones. `about` explains them.
 * `note` warns about values that are not recorded.
 * @param {Call} call
 * @param {string | null} sent the params that this tab sent, as JSON
 * @returns {{params: string | null, about: string, note: string}}
 */
export function againOf(call, sent) {
  if (sent !== null)
    return {
      params: sent,
      about: 'This tab made the call: “Call again” fills the form with the same params.',
      note: '',
    };
  if (!('params' in call))
    return { params: null, about: '“Call again” opens the form of the method, and you fill it in.', note: '' };
  return {
    params: prettyJson(call.params),
    about: '“Call again” fills the form with the recorded params.',
    note: hasRedacted(call.params) ? `Some values are not recorded: replace ${REDACTED} before you call.` : '',
  };
}

/** Whether a value at any depth is not recorded. @param {any} value @returns {boolean} */
function hasRedacted(value) {
  if (value === REDACTED) return true;
  return value !== null && typeof value === 'object' && Object.values(value).some(hasRedacted);
}
