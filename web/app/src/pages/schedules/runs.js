/** A list of the next runs of a schedule. */
import { html } from '../../lib/preact.js';
import { Time } from '../../ui/time.js';

/** @param {{runs: string[]}} props */
export function Runs({ runs }) {
  return html`
    <ol class="stack-small" aria-label="Next runs">
      ${runs.map((run) => html`<li key=${run}><${Time} value=${run} exact /></li>`)}
    </ol>
  `;
}
