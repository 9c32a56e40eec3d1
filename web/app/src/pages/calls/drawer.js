/** One recorded call. */
import { api, at } from '../../lib/api.js';
import { formatDuration } from '../../lib/duration.js';
import { formatBytes } from '../../lib/format.js';
import { can, me } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { readSent } from '../../lib/sent.js';
import { navigate } from '../../router.js';
import { Badge } from '../../ui/badge.js';
import { Button, CopyButton } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { pendingOf } from '../../ui/error-notice.js';
import { JsonView } from '../../ui/json-view.js';
import { Time } from '../../ui/time.js';
import { fillParams } from '../method/draft.js';
import { againOf } from './again.js';
import { CompareCalls, hasPayload } from './compare.js';
import { Outcome } from './table.js';
import { callerOf, nameOfMethod, omissionWords, outcomeWords, pageOfMethod, viaWords } from './words.js';

/** @import { CallDetail } from 'api' */

/** @param {{id: string, onClose: () => void}} props */
export function CallDrawer({ id, onClose }) {
  // Exact, because recorded params may have a number that JavaScript would round.
  const path = at('/api/calls/{id}', { id });
  const loaded = useResource((signal) => api.get(path, undefined, { signal, exact: true }), { deps: [id] });
  const call = /** @type {CallDetail | null} */ (loaded.data);
  return html`
    <${Drawer} title=${call ? html`<span class="mono anywhere">${nameOfMethod(call)}</span>` : 'Call'}
      onClose=${onClose} footer=${call && html`<${Actions} call=${call} />`}>
      ${!call && pendingOf(loaded)}
      ${call && html`<${Details} call=${call} />`}
    </${Drawer}>
  `;
}

/** @param {{call: CallDetail}} props */
function Actions({ call }) {
  const page = pageOfMethod(call);
  const { params, note } = againOf(call, readSent(call.trace_id));
  const again = () => {
    if (!page) return;
    if (params !== null) fillParams(nameOfMethod(call), params);
    navigate(page);
  };
  const filter = new URLSearchParams({ method: call.method, ...(call.owner ? { owner: call.owner } : {}) });
  return html`
    ${page && note && html`<p class="muted small grow">${note}</p>`}
    <${Button} icon="filter" href=${`/calls?${filter}`}>Calls of this method</${Button}>
    ${page && html`<${Button} kind="primary" icon="play" onClick=${again}>Call again</${Button}>`}
  `;
}

/** @param {{call: CallDetail}} props */
function Details({ call }) {
  const page = pageOfMethod(call);
  const name = nameOfMethod(call);
  const failed = call.outcome === 'error';
  return html`
    <div class="stack-large">
      <div class="stack-small">
        <p class="call-outcome"><${Outcome} call=${call} /></p>
        <p class="muted">${outcomeWords(call.outcome).about}</p>
      </div>
      <${KeyValue}
        items=${[
          [
            'Method',
            page
              ? html`<a class="mono anywhere" href=${page}>${name}</a>`
              : html`<span class="mono anywhere">${name}</span>`,
          ],
          [
            'Caller',
            html`
              <span class="mono anywhere">${callerOf(call)}</span>
              ${call.caller_id === me.value?.id && html` <${Badge}>you</${Badge}>`}
            `,
          ],
          call.credential && ['Credential', html`<${Credential} credential=${call.credential} />`],
          ['Came by', viaWords(call.via)],
          call.space_id && ['Space', html`<${Space} call=${call} />`],
          [
            'Ended',
            html`
              <${Time} value=${call.at} exact /> <span class="muted">(<${Time} value=${call.at} />)</span>
            `,
          ],
          ['Took', formatDuration(call.duration_ms)],
          ['Params', formatBytes(call.params_bytes)],
          ['Result', formatBytes(call.result_bytes)],
          call.trace_id && ['Trace', html`<${Id} id=${call.trace_id} label="trace id" />`],
          ['Call id', html`<${Id} id=${call.id} label="call id" />`],
        ]} />
      <${Payload} call=${call} name="params" omitted=${call.params_omitted} />
      <${Payload} call=${call} name=${failed ? 'error' : 'result'} omitted=${call.result_omitted} />
      ${hasPayload(call) && html`<${CompareCalls} call=${call} />`}
      ${page && html`<p class="muted small">${againOf(call, readSent(call.trace_id)).about}</p>`}
    </div>
  `;
}

/**
 * Recorded params, result or error. Renders nothing if none is recorded.
 * @param {{call: CallDetail, name: 'params' | 'result' | 'error', omitted?: string}} props
 */
function Payload({ call, name, omitted }) {
  if (!(name in call) && !omitted) return null;
  return html`
    <div class="stack-small">
      <h3>Recorded ${name}</h3>
      ${
        name in call
          ? html`<${JsonView} tools value=${call[name]} label=${`recorded ${name}`} depth=${3} />`
          : html`<p class="muted">${omissionWords(omitted ?? '')}</p>`
      }
    </div>
  `;
}

/** @param {{id: string, label: string}} props */
function Id({ id, label }) {
  return html`
    <span class="call-id">
      <span class="mono small anywhere">${id}</span><${CopyButton} text=${id} label=${`Copy ${label}`} />
    </span>
  `;
}

/** @param {{credential: NonNullable<CallDetail['credential']>}} props */
function Credential({ credential }) {
  return html`${credential.kind} ${credential.id && html`<span class="mono small muted">${credential.id}</span>`}`;
}

/** @param {{call: CallDetail}} props */
function Space({ call }) {
  const name = call.space ?? `${call.space_id} (deleted)`;
  return call.space && can('use_spaces', 'manage_spaces')
    ? html`<a class="mono anywhere" href=${`/spaces/${call.space_id}`}>${name}</a>`
    : html`<span class="mono anywhere">${name}</span>`;
}
