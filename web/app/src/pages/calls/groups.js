/** Counted calls of callers or credentials: the columns of their tables, and texts. */
import { exactTime, formatNumber, plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Time } from '../../ui/time.js';

/** @import { CallGroup, CallSummary } from 'api' */

/** The columns of the numbers. @type {import('../../ui/table.js').Column<any>[]} */
export const COUNT_COLUMNS = [
  { key: 'calls', label: 'Calls', align: 'right', phone: 'line', cell: ({ calls }) => plural(calls, 'call') },
  {
    key: 'failed',
    label: 'Failed',
    align: 'right',
    phone: 'line-aside',
    cell: ({ failed }) =>
      failed > 0
        ? html`<span class="tone-bad chart-bad">${formatNumber(failed)} failed</span>`
        : html`<span class="muted">none failed</span>`,
  },
  {
    key: 'last_at',
    label: 'Last call',
    shrink: true,
    phone: 'aside',
    cell: (group) => html`<${Time} value=${group.last_at} />`,
  },
];

/**
 * The name of the caller.
 * @param {CallGroup} group
 */
export const callerName = ({ caller }) => caller ?? html`<span class="muted">a deleted user</span>`;

/**
 * Which calls and groups are missing in a summary of the last 7 days, as sentences; '' if none is missing.
 * @param {CallSummary} summary
 * @param {string} one the word for a group
 */
export function missingWords({ is_complete: isComplete, counted_since: since, other }, one) {
  const sentences = [];
  if (!isComplete && since) sentences.push(`Calls before ${exactTime(since)} are not counted: there are too many.`);
  if (!isComplete && !since) sentences.push('Some calls are not counted: there are too many.');
  if (other) sentences.push(`${plural(other.groups, `more ${one}`)} made ${plural(other.calls, 'call')}.`);
  return sentences.join(' ');
}
