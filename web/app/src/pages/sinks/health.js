/** Type and health of a sink as texts and badges, for all pages that show sinks. */
import { relativeTime } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { isFailing, unrecovered } from '../../lib/sinks.js';
import { Badge, Status, toneOf } from '../../ui/badge.js';
import { Time } from '../../ui/time.js';

/** Capacity of the queue of a sink. */
export const QUEUE_CAPACITY = 100;

/** @typedef {import('../../lib/sinks.js').Sink} Sink */
/** @typedef {import('../../lib/sinks.js').SinkType} SinkType */

/** @type {Record<SinkType, string>} */
export const TYPE_NAMES = { webhook: 'Webhook', script: 'Script', 'json-rpc': 'JSON-RPC' };

/** Whether a sink has a queue: a JSON-RPC sink only formats events for methods. @param {Sink} sink */
export const hasQueue = (sink) => sink.type !== 'json-rpc';

/** @param {Sink} sink @returns {'inactive' | 'retrying' | 'failing' | 'undelivered' | 'active'} */
export function stateOf(sink) {
  if (!sink.active) return 'inactive';
  if (sink.failures > 0) return 'retrying';
  if (sink.last_delivery?.state === 'dead') return 'failing';
  return isFailing(sink) ? 'undelivered' : 'active';
}

/** By state, failing sinks first; within a state by name. @param {Sink} a @param {Sink} b */
export function compareByHealth(a, b) {
  const rank = (/** @type {Sink} */ sink) =>
    ['failing', 'undelivered', 'retrying', 'active', 'inactive'].indexOf(stateOf(sink));
  return rank(a) - rank(b) || a.name.localeCompare(b.name);
}

/** @param {{sink: Sink}} props */
export function SinkStatus({ sink }) {
  const state = stateOf(sink);
  if (state === 'undelivered') return html`<${Status} tone="bad">${unrecovered(sink)}</${Status}>`;
  return html`<${Status} tone=${toneOf(state)} pulse=${state === 'retrying'}>${state}</${Status}>`;
}

/** @param {{sink: Sink}} props */
export function LastResult({ sink }) {
  const last = sink.last_delivery;
  if (!hasQueue(sink)) return html`<span class="muted">formats only</span>`;
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

/** The summary on the page of a failing sink. @param {Sink} sink */
export function failureText(sink) {
  const last = sink.last_delivery;
  if (sink.failures > 0) {
    const times = sink.failures === 1 ? 'once' : `${sink.failures} times`;
    return `A delivery in its queue has failed ${times} and is tried again.`;
  }
  if (last?.state === 'dead') {
    const reason = last.error ? `: ${last.error}` : '.';
    return `Its last delivery (#${last.n}, ${relativeTime(last.at)}) was given up after its last attempt${reason}`;
  }
  if (unrecovered(sink))
    return `Not delivered and not sent again: ${unrecovered(sink)}. Resend dead deliveries; replay dropped events.`;
  return '';
}
