/** Sinks with failing deliveries. */
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { EmptyState } from '../../ui/empty-state.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';

/** @param {{sinks: NonNullable<import('../overview.js').Stats['sinks']>}} props */
export function FailingCard({ sinks }) {
  return html`
    <${Card} title="Failing sinks" flush>
      ${
        sinks.failing.length > 0
          ? html`
            <ul class="overview-list" aria-label="Failing sinks">
              ${sinks.failing.map((sink) => html`<${Row} key=${sink.id} sink=${sink} />`)}
            </ul>
          `
          : html`<${NoFailures} any=${sinks.total > 0} dropped=${sinks.dropped} />`
      }
    </${Card}>
  `;
}

/** @param {{sink: import('../overview.js').FailingSink}} props */
function Row({ sink }) {
  return html`
    <li class="stack-small">
      <div class="row between">
        <a class="strong anywhere" href=${`/sinks/${sink.id}`}>${sink.name}</a>
        <${Status} tone=${sink.state === 'dead' ? 'bad' : 'warn'}>
          ${sink.state === 'dead' ? 'gave up' : 'trying again'}
        </${Status}>
      </div>
      ${sink.error && html`<p class="overview-error small anywhere">${withCode(sink.error)}</p>`}
      <p class="muted small"><span class="mono anywhere">${sink.event_type}</span>, <${Time} value=${sink.at} /></p>
    </li>
  `;
}

/** @param {{any: boolean, dropped: number}} props */
function NoFailures({ any, dropped }) {
  if (dropped > 0)
    return html`
      <p class="overview-quiet">
        <${Status} tone="bad">${plural(dropped, 'event')} dropped</${Status}>
        <span class="muted small">Their queues were full. <a href="/sinks">Look at the sinks</a> and replay them.</span>
      </p>
    `;
  if (any) return html`<p class="overview-quiet"><${Status} tone="good">All deliveries arrive</${Status}></p>`;
  return html`
    <${EmptyState} icon="send" level=${3} title="No sinks yet">
      <p>A sink receives the events that match its patterns.</p>
      <${CodeBlock} text="svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook"
        label="command for a sink" prompt />
    </${EmptyState}>
  `;
}
