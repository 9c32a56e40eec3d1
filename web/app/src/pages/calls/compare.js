/** Compares the recorded params and results of two calls of one method. */
import { api, at, withQuery } from '../../lib/api.js';
import { exactTime } from '../../lib/format.js';
import { prettyJson } from '../../lib/json.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Differences } from '../../ui/compare.js';
import { pendingOf } from '../../ui/error-notice.js';
import { Select } from '../../ui/field.js';
import { callerOf, outcomeWords } from './words.js';

/** @import { CallDetail } from 'api' */

/** The maximum number of calls to choose from. They are the newest calls of the method. */
const CALLS_MAX = 50;

/** @param {CallDetail} call */
export const hasPayload = (call) => 'params' in call || 'result' in call || 'error' in call;

/** @param {{call: CallDetail}} props */
export function CompareCalls({ call }) {
  const [open, setOpen] = useState(false);
  return html`
    <details class="comparison" onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
      <summary>Compare with another call</summary>
      ${open && html`<${Choice} call=${call} />`}
    </details>
  `;
}

/** @param {{call: CallDetail}} props */
function Choice({ call }) {
  const [chosen, setChosen] = useState('');
  const list = useResource(withQuery('/api/calls', { method: call.method, owner: call.owner_id, limit: CALLS_MAX }));
  const pending = pendingOf(list);
  if (pending || !list.data) return pending;
  const others = list.data.calls.filter((one) => one.id !== call.id);
  if (others.length === 0) return html`<p class="muted small">There is no other call of this method.</p>`;
  const options = others.map((one) => ({
    value: one.id,
    label: `${exactTime(one.at)}, ${callerOf(one)}, ${outcomeWords(one.outcome).words}`,
  }));
  return html`
    <div class="stack-small">
      <${Select} label="Other call" value=${chosen} onInput=${setChosen}
        options=${[{ value: '', label: 'Choose' }, ...options]} />
      ${chosen && html`<${OtherCall} key=${chosen} id=${chosen} call=${call} />`}
    </div>
  `;
}

/** @param {{id: string, call: CallDetail}} props */
function OtherCall({ id, call }) {
  const path = at('/api/calls/{id}', { id });
  const loaded = useResource((signal) => api.get(path, undefined, { signal, exact: true }), { deps: [id] });
  const pending = pendingOf(loaded);
  if (pending || !loaded.data) return pending;
  if (!hasPayload(loaded.data))
    return html`<p class="muted small">The params and the result of that call are not recorded.</p>`;
  return html`<${Differences} before=${textOf(loaded.data)} after=${textOf(call)} />`;
}

/** @param {CallDetail} call */
function textOf(call) {
  const part = (/** @type {'params' | 'result' | 'error'} */ name) =>
    name in call ? [`${name}:`, prettyJson(call[name])] : [];
  return [...part('params'), ...part('result'), ...part('error')].join('\n');
}
