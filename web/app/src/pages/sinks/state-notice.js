/** The state of a sink in words, above its tabs: what happened, since when, what waits, and what to do. */
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { sinkState } from '../../lib/sinks.js';
import { Notice } from '../../ui/error-notice.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';
import { hasQueue } from './health.js';

/** @import { Sink } from 'api' */

const ICONS = /** @type {Record<string, string>} */ ({ paused: 'alert', disabled: 'pause', resending: 'clock' });

/** @param {{sink: Sink}} props */
export function StateNotice({ sink }) {
  const state = sinkState(sink);
  return html`
    ${state.name !== 'active' && html`<${Reason} sink=${sink} state=${state} />`}
    ${
      (sink.filter_errors ?? 0) > 0 &&
      html`
        <${Notice} tone="warn" icon="alert"
          title=${`The filter failed for ${plural(sink.filter_errors ?? 0, 'event')}, which were not delivered`}>
          ${sink.filter_error && html`<p>Newest error: ${withCode(sink.filter_error)}</p>`}
        </${Notice}>
      `
    }
  `;
}

/** @param {{sink: Sink, state: import('../../lib/sinks.js').SinkState}} props */
function Reason({ sink, state }) {
  const { name, tone, reason, since, waiting } = state;
  return html`
    <${Notice} tone=${tone === 'neutral' ? 'warn' : tone} icon=${ICONS[name] ?? 'alert'}>
      <div class="stack-small">
        <p>${withCode(reason)}</p>
        ${
          (since || waiting) &&
          html`
            <p class="notice-hint">
              ${since && html`Since <${Time} value=${since} exact />. `}${waiting && `Waiting: ${waiting}.`}
            </p>
          `
        }
        ${!sink.active && hasQueue(sink) && html`<p class="notice-hint">${afterwards(sink)}</p>`}
      </div>
    </${Notice}>
  `;
}

/** What happens to the events of an inactive sink. @param {Sink} sink */
function afterwards(sink) {
  const held = sink.delivery?.overflow === 'hold';
  const verb = sink.paused ? 'resumed' : 'enabled';
  const kept = sink.queue_depth > 0 ? `Queued events wait until it is ${verb}. ` : '';
  const fresh = held
    ? `New events are held, and follow when the sink is ${verb}.`
    : `New events are not queued and are not delivered when the sink is ${verb}; a replay can send them.`;
  return `${kept}${fresh}${remedy(sink)}`;
}

/** What a person has to do about a pause. @param {Sink} sink */
function remedy({ paused }) {
  if (!paused) return '';
  return paused.until_corrected
    ? ' Correct the text that cannot be read: this resumes the sink.'
    : ' Test the receiver, then resume the sink.';
}
