/** Type and state of a sink as texts and badges, for all pages that show sinks. */
import { html } from '../../lib/preact.js';
import { sinkState } from '../../lib/sinks.js';
import { Badge, Status, toneOf } from '../../ui/badge.js';
import { Time } from '../../ui/time.js';

/** @import { Sink, SinkType } from 'api' */

/** Capacity of the queue of a sink. */
export const QUEUE_CAPACITY = 100;

/** @type {Record<SinkType, string>} */
export const TYPE_NAMES = { webhook: 'Webhook', script: 'Script', 'json-rpc': 'JSON-RPC' };

/** Whether a sink has a queue: a JSON-RPC sink only formats events for methods. @param {Sink} sink */
export const hasQueue = (sink) => sink.type !== 'json-rpc';

/** @param {{sink: import('../../lib/sinks.js').SinkFacts}} props */
export function SinkStatus({ sink }) {
  const { tone, label, moves, reason } = sinkState(sink);
  return html`<${Status} tone=${tone} pulse=${moves} title=${reason || undefined}>${label}</${Status}>`;
}

/** @param {{sink: Sink}} props */
export function LastResult({ sink }) {
  const last = sink.last_delivery;
  if (!hasQueue(sink)) return html`<span class="muted">formats only</span>`;
  if (!last && sink.failures > 0) return html`<${Status} tone="bad">no attempt succeeded</${Status}>`;
  if (!last) return html`<span class="muted">nothing yet</span>`;
  return html`
    <span class="last-result">
      <span class="last-head">
        <${Status} tone=${toneOf(last.state)}>${last.state}</${Status}>
        <span class="muted small nowrap"><${Time} value=${last.at} /></span>
      </span>
      ${last.error && html`<span class="last-error small" title=${last.error}>${last.error}</span>`}
    </span>
  `;
}

/** @param {{sink: Sink}} props */
export function SinkBadges({ sink }) {
  return html`
    <${Badge}>${TYPE_NAMES[sink.type]}</${Badge}>
    ${sink.owner === 'global' && html`<${Badge} tone="accent">global</${Badge}>`}
  `;
}

/** The maximum number of patterns in a row of a table. For further patterns, the row shows only their number. */
const SHOWN_PATTERNS = 2;

/** @param {{patterns: string[], all?: boolean}} props */
export function Patterns({ patterns, all = false }) {
  const shown = all ? patterns : patterns.slice(0, SHOWN_PATTERNS);
  const rest = patterns.length - shown.length;
  return html`
    <span class=${all ? 'pattern-list' : 'pattern-list pattern-list-short'}>
      ${shown.map((pattern) => html`<${Badge} key=${pattern} mono>${pattern}</${Badge}>`)}
      ${
        rest > 0 &&
        html`<span class="muted small" title=${patterns.slice(SHOWN_PATTERNS).join(', ')}>and ${rest} more</span>`
      }
    </span>
  `;
}
