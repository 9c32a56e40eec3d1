/** The difference of two texts: attempts of a delivery, results of a method. */
import { diffLines, MOST_LINES } from '../lib/diff.js';
import { formatNumber } from '../lib/format.js';
import { html, useMemo, useState } from '../lib/preact.js';
import { Select } from './field.js';

const MARKS = { same: ' ', removed: '−', added: '+' };

/** @typedef {{key: string, label: string, text: () => string}} Version */

/**
 * Lets users choose two versions of a text.
 * @param {{title: string, versions: Version[], chosen?: [string, string]}} props `chosen`: the keys of the
 *   two versions that are selected at first
 */
export function Comparison({ title, versions, chosen = ['', ''] }) {
  const [pair, setPair] = useState(/** @type {[string, string] | null} */ (null));
  const [from, to] = pair ?? chosen;
  const options = [{ value: '', label: 'Choose' }, ...versions.map(({ key, label }) => ({ value: key, label }))];
  const find = (/** @type {string} */ key) => versions.find((one) => one.key === key);
  const [before, after] = [find(from), find(to)];
  return html`
    <details class="comparison">
      <summary>${title}</summary>
      <div class="stack-small">
        <div class="row">
          <${Select} label="From" value=${before ? from : ''} options=${options}
            onInput=${(/** @type {string} */ key) => setPair([key, to])} />
          <${Select} label="To" value=${after ? to : ''} options=${options}
            onInput=${(/** @type {string} */ key) => setPair([from, key])} />
        </div>
        ${before && after && html`<${Differences} before=${before.text()} after=${after.text()} />`}
      </div>
    </details>
  `;
}

/** @param {{before: string, after: string}} props */
export function Differences({ before, after }) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const isCut = [before, after].some((text) => text.split('\n', MOST_LINES + 1).length > MOST_LINES);
  return html`
    <div class="diff mono" tabindex="0" role="region" aria-label="Differences">
      ${
        lines.every((line) => line.kind === 'same')
          ? html`<p class="diff-line">No difference.</p>`
          : lines.map(
              (line, index) =>
                html`<div key=${index} class=${`diff-line diff-${line.kind}`}>${MARKS[line.kind]} ${line.text}</div>`,
            )
      }
    </div>
    ${isCut && html`<p class="hint">Only the first ${formatNumber(MOST_LINES)} lines are compared.</p>`}
  `;
}
