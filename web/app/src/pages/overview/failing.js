/** Sinks that did not deliver some events. */
import { failingSinks } from '../../lib/alerts.js';
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { EmptyState } from '../../ui/empty-state.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';
import { compareByHealth, SinkStatus } from '../sinks/health.js';

/** The maximum number of sinks in the card. A link leads to the page of all failing sinks. */
const SHOWN = 6;

/** @param {{sinks: NonNullable<import('../overview.js').Stats['sinks']>}} props */
export function FailingCard({ sinks }) {
  const failing = failingSinks.value;
  const shown = [...(failing ?? [])].sort(compareByHealth).slice(0, SHOWN);
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
        failing.length > SHOWN &&
        html`
          <p class="overview-more">
            <${Button} kind="ghost" size="small" icon="arrow-right" href="/sinks?state=failing">
              All ${failing.length} failing sinks
            </${Button}>
          </p>
        `
      }
    </${Card}>
  `;
}

/** @param {{sink: import('../../lib/sinks.js').Sink}} props */
function Row({ sink }) {
  const last = sink.last_delivery;
  const error = last?.state === 'delivered' ? null : last?.error;
  return html`
    <li class="stack-small">
      <div class="row between">
        <a class="strong anywhere" href=${`/sinks/${sink.id}`}>${sink.name}</a><${SinkStatus} sink=${sink} />
      </div>
      ${error && html`<p class="overview-error small anywhere">${withCode(error)}</p>`}
      ${
        last &&
        html`
          <p class="muted small">
            last: <span class="mono anywhere">${last.event_type}</span> ${last.state}, <${Time} value=${last.at} />
          </p>
        `
      }
    </li>
  `;
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
      <${Status} tone="good">All deliveries arrive</${Status}>
      ${
        sinks.dropped > 0 &&
        html`<span class="muted small">${plural(sinks.dropped, 'event')} dropped earlier, all replayed since.</span>`
      }
    </p>
  `;
}
