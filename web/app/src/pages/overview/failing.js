/** Sinks that did not deliver some events. */
import { failingSinks } from '../../lib/alerts.js';
import { formatNumber, plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { unrecovered } from '../../lib/sinks.js';
import { Status, toneOf } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { EmptyState } from '../../ui/empty-state.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';

/** @typedef {import('../../lib/alerts.js').FailingSink} FailingSink */

/** The maximum number of sinks in the card. A link leads to the page of all failing sinks. */
const SHOWN = 6;

/** @param {{sinks: NonNullable<import('../overview.js').Stats['sinks']>}} props */
export function FailingCard({ sinks }) {
  const failing = failingSinks.value;
  const shown = [...(failing?.sinks ?? [])].sort(byHealth).slice(0, SHOWN);
  return html`
    <${Card} title="Failing sinks" flush>
      ${shown.length === 0 && html`<${NoFailures} sinks=${sinks} isKnown=${failing !== null} />`}
      ${
        shown.length > 0 &&
        html`
          <ul class="overview-list" aria-label="Failing sinks">
            ${shown.map((sink) => html`<${Row} key=${sink.id} sink=${sink} />`)}
          </ul>
        `
      }
      ${
        failing &&
        failing.total > SHOWN &&
        html`
          <p class="overview-more">
            <${Button} kind="ghost" size="small" icon="arrow-right" href="/sinks?state=failing">
              All ${formatNumber(failing.total)} failing sinks
            </${Button}>
          </p>
        `
      }
    </${Card}>
  `;
}

/**
 * The order of the sinks, by the state of their last delivery. A sink with the state `delivered` is in the list
 * because it lost other events.
 */
const RANKS = ['dead', 'delivered', 'pending'];

/** @param {FailingSink} a @param {FailingSink} b */
const byHealth = (a, b) => RANKS.indexOf(a.state) - RANKS.indexOf(b.state) || a.name.localeCompare(b.name);

/** @param {{sink: FailingSink}} props */
function Row({ sink }) {
  const error = sink.state === 'delivered' ? null : sink.error;
  return html`
    <li class="stack-small">
      <div class="row between">
        <a class="strong anywhere" href=${`/sinks/${sink.id}`}>${sink.name}</a><${State} sink=${sink} />
      </div>
      ${error && html`<p class="overview-error small anywhere">${withCode(error)}</p>`}
      ${
        sink.at &&
        html`
          <p class="muted small">
            last: <span class="mono anywhere">${sink.event_type}</span> ${sink.state}, <${Time} value=${sink.at} />
          </p>
        `
      }
    </li>
  `;
}

/** @param {{sink: FailingSink}} props */
function State({ sink }) {
  if (sink.state === 'dead') return html`<${Status} tone="bad">failing</${Status}>`;
  if (sink.state === 'pending' && sink.at)
    return html`<${Status} tone=${toneOf('retrying')} pulse>retrying</${Status}>`;
  return html`<${Status} tone="bad">${unrecovered(sink)}</${Status}>`;
}

/** @param {{sinks: NonNullable<import('../overview.js').Stats['sinks']>, isKnown: boolean}} props */
function NoFailures({ sinks, isKnown }) {
  if (sinks.total === 0)
    return html`
      <${EmptyState} icon="send" level=${3} title="No sinks yet">
        <p>A sink receives the events that match its patterns.</p>
        <${CodeBlock} text="svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook"
          label="command for a sink" prompt />
      </${EmptyState}>
    `;
  if (!isKnown) return html`<div class="loading-space"></div>`;
  return html`
    <p class="overview-quiet">
      <${Status} tone="good">No sink of yours fails</${Status}>
      ${sinks.dropped > 0 && html`<span class="muted small">${plural(sinks.dropped, 'event')} dropped in total.</span>`}
    </p>
  `;
}
