/** What fails: sinks that did not deliver some events, and spaces that do not work. */
import { failingSinks, failingSpaces } from '../../lib/alerts.js';
import { formatNumber, plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { factsOf, sinkState } from '../../lib/sinks.js';
import { spaceState } from '../../lib/spaces.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { EmptyState } from '../../ui/empty-state.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';

/** @import { FailingSink, Space, Stats } from 'api' */

/** The maximum number of rows of each list. A link leads to the page with all of them. */
const SHOWN = 6;

/** Whether something fails, as far as it is known. */
export const anyFailing = () => (failingSinks.value?.total ?? 0) + (failingSpaces.value?.total ?? 0) > 0;

/** @param {{stats: Stats}} props */
export function FailingCard({ stats }) {
  const sinks = failingSinks.value;
  const spaces = failingSpaces.value;
  const isKnown = (!stats.sinks || sinks !== null) && (!stats.spaces || spaces !== null);
  return html`
    <${Card} title="Needs attention" flush>
      ${!isKnown && html`<div class="loading-space"></div>`}
      ${isKnown && !anyFailing() && html`<${NoFailures} stats=${stats} />`}
      <${List} name="Failing spaces" href="/spaces?state=failing" total=${spaces?.total ?? 0}
        rows=${(spaces?.spaces ?? [])
          .slice(0, SHOWN)
          .map((space) => html`<${SpaceRow} key=${space.id} space=${space} />`)}
      />
      <${List} name="Failing sinks" href="/sinks?state=failing" total=${sinks?.total ?? 0}
        rows=${[...(sinks?.sinks ?? [])]
          .sort(byState)
          .slice(0, SHOWN)
          .map((sink) => html`<${SinkRow} key=${sink.id} sink=${sink} />`)} />
    </${Card}>
  `;
}

/** @param {{name: string, href: string, total: number, rows: any[]}} props */
function List({ name, href, total, rows }) {
  if (total === 0) return null;
  return html`
    <section class="overview-failing" aria-label=${name}>
      <h3 class="overview-kind">${name} <span class="muted">${formatNumber(total)}</span></h3>
      <ul class="overview-list" aria-label=${name}>${rows}</ul>
      ${
        total > rows.length &&
        html`
          <p class="overview-more">
            <${Button} kind="ghost" size="small" icon="arrow-right" href=${href}>
              All ${formatNumber(total)} ${name.toLowerCase()}
            </${Button}>
          </p>
        `
      }
    </section>
  `;
}

const RANKS = ['paused', 'failing', 'undelivered', 'retrying'];

/** @param {FailingSink} sink */
const rankOf = (sink) => RANKS.indexOf(sinkState(factsOf(sink)).name);
/** @param {FailingSink} a @param {FailingSink} b */
const byState = (a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name);

/** @param {{sink: FailingSink}} props */
function SinkRow({ sink }) {
  const state = sinkState(factsOf(sink));
  const error = sink.paused ? state.reason : sink.state === 'delivered' ? null : sink.error;
  return html`
    <${Row} href=${`/sinks/${sink.id}`} name=${sink.name} state=${state} error=${error}>
      ${
        sink.paused
          ? html`<${Time} value=${sink.paused.at} />${state.waiting && `, waiting: ${state.waiting}`}`
          : sink.at &&
            html`
              last: <span class="mono anywhere">${sink.event_type}</span> ${sink.state}, <${Time} value=${sink.at} />
            `
      }
    </${Row}>
  `;
}

/** @param {{space: Space}} props */
function SpaceRow({ space }) {
  const state = spaceState(space);
  return html`
    <${Row} href=${`/spaces/${space.id}`} name=${space.name} state=${state} error=${state.reason}>
      ${state.since && html`<${Time} value=${state.since} />`}
    </${Row}>
  `;
}

/**
 * @param {{href: string, name: string, state: {tone: any, label: string, moves?: boolean}, error: string | null,
 *   children?: any}} props
 */
function Row({ href, name, state, error, children }) {
  return html`
    <li class="stack-small">
      <div class="row between">
        <a class="strong anywhere" href=${href}>${name}</a>
        <${Status} tone=${state.tone} pulse=${state.moves}>${state.label}</${Status}>
      </div>
      ${error && html`<p class="overview-error small anywhere">${withCode(error)}</p>`}
      ${children && html`<p class="muted small">${children}</p>`}
    </li>
  `;
}

/** @param {{stats: Stats}} props */
function NoFailures({ stats }) {
  const { sinks, spaces } = stats;
  if (sinks?.total === 0)
    return html`
      <${EmptyState} icon="send" level=${3} title="No sinks yet">
        <p>A sink receives the events that match its patterns.</p>
        <${CodeBlock} text="svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook"
          label="command for a sink" prompt />
      </${EmptyState}>
    `;
  // Sinks that are disabled, or that another user manages, are counted too.
  const lost = sinks?.lost ?? 0;
  return html`
    <p class="overview-quiet stack-small">
      ${spaces && html`<${Status} tone="good">No space of yours fails</${Status}>`}
      ${sinks && html`<${Status} tone="good">No sink of yours fails</${Status}>`}
      ${
        lost > 0 &&
        html`
          <span class="muted small">
            ${plural(lost, 'dropped event')} of disabled sinks, or of sinks of other users, not replayed.
          </span>
        `
      }
    </p>
  `;
}
