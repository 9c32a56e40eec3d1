import { formatDuration } from '../../lib/duration.js';
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { CodeBlock } from '../../ui/code-block.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';

/** @import { Attempt } from 'api' */

/**
 * The attempts of one delivery, oldest first.
 * @param {{attempts: Attempt[], to?: string}} props `to`: the receiver, if the page shows several
 */
export function Attempts({ attempts, to = '' }) {
  if (attempts.length === 0) return html`<p class="muted small">Not tried yet.</p>`;
  return html`
    <ol class="attempts" aria-label=${`Attempts${where(to)}`}>
      ${attempts.map(
        (attempt, index) =>
          html`
            <li key=${index}>
              <${AttemptLine} attempt=${attempt} n=${index + 1} to=${to}
                open=${index === attempts.length - 1 && attempt.error !== null} />
            </li>
          `,
      )}
    </ol>
  `;
}

/** Shown in the place of the texts of an attempt that the quota left no room for. */
export const OMITTED = html`
  <p class="hint">
    The texts of this attempt are not kept: the quota <code>event_bytes</code> of the owner is used up.
  </p>
`;

/** @param {string} to */
const where = (to) => (to ? ` for ${to}` : '');

/** @param {{attempt: Attempt, n?: number, to?: string, open?: boolean}} props */
export function AttemptLine({ attempt, n, to = '', open = true }) {
  const what = attempt.status === null ? 'Output' : 'Answer';
  return html`
    <div class="attempt">
      <p class="attempt-head">
        <${Status} tone=${attempt.error ? 'bad' : 'good'}>${outcomeOf(attempt)}</${Status}>
        <span class="muted small">
          ${n ? `attempt ${n}, ` : ''}${formatDuration(attempt.ms)}, <${Time} value=${attempt.at} exact />
        </span>
      </p>
      ${attempt.error && html`<p class="attempt-error">${withCode(attempt.error)}</p>`}
      ${attempt.output_omitted && OMITTED}
      ${
        attempt.output &&
        html`
          <details class="attempt-output" open=${open}>
            <summary>${what}</summary>
            <${CodeBlock} text=${attempt.output}
              label=${`${what.toLowerCase()}${n ? ` of attempt ${n}` : ''}${where(to)}`} wrap />
          </details>
        `
      }
    </div>
  `;
}

/** Returns "HTTP 503", or a word if there is no status, as for scripts and methods. @param {Attempt} attempt */
export function outcomeOf(attempt) {
  if (attempt.status !== null) return `HTTP ${attempt.status}`;
  return attempt.error ? 'Failed' : 'Succeeded';
}
