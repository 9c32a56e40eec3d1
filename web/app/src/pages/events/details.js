/** One event: its fields and its deliveries. */
import { useAction } from '../../lib/action.js';
import { failingSinks } from '../../lib/alerts.js';
import { api, at } from '../../lib/api.js';
import { can, me } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Badge, Status, toneOf } from '../../ui/badge.js';
import { Button, CopyButton } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { Attempts } from './attempts.js';
import { NO_SPACE } from './patterns.js';

/** @import { EventDelivery, EventReceiver, EventRecord } from 'api' */

const REFRESH_MS = 2_000;

/** @param {{event: EventRecord}} props */
export function EventFacts({ event }) {
  const mine = event.owner_id === me.value?.id;
  const space = event.space_id !== NO_SPACE;
  return html`
    <${KeyValue}
      items=${[
        [
          'Event id',
          html`
            <span class="event-id">
              <span class="mono anywhere">${event.event_id}</span>
              <${CopyButton} text=${event.event_id} label="Copy event id" />
            </span>
          `,
        ],
        [
          'Time',
          html`
            <${Time} value=${event.event_ts} exact /> <span class="muted">(<${Time} value=${event.event_ts} />)</span>
          `,
        ],
        [
          'Emitted by',
          html`
            ${
              event.actor.username
                ? html`
                  <span class="mono">${event.actor.username}</span>
                `
                : 'the server'
            } <${Badge}>${event.actor.kind}</${Badge}>
          `,
        ],
        ['Space', spaceOf(event, space)],
        !mine && ['Owner', html`<span class="mono anywhere">${event.owner_id}</span>`],
      ]} />
  `;
}

/** @param {EventRecord} event @param {boolean} space */
function spaceOf(event, space) {
  if (!space) return html`<span class="muted">none: emitted outside any space</span>`;
  const name = typeof event.data?.space_name === 'string' ? event.data.space_name : event.space_id;
  return can('use_spaces', 'manage_spaces')
    ? html`<a class="mono anywhere" href=${`/spaces/${event.space_id}`}>${name}</a>`
    : html`<span class="mono anywhere">${name}</span>`;
}

/**
 * The deliveries of the event and the queues that dropped it, with their states.
 * @param {{event: EventRecord}} props
 */
export function Receivers({ event }) {
  const list = useResource(at('/api/events/{id}/deliveries', { id: event.event_id }), { every: REFRESH_MS });
  const pending = pendingOf(list);
  if (pending || !list.data) return pending;
  const { deliveries } = list.data;
  const stale = html`<${ErrorNotice} error=${list.error} title="Not up to date" />`;
  if (deliveries.length === 0) {
    return html`
      ${stale}
      <p class="muted">No sink or method of yours has a delivery of this event.</p>
      ${
        can('manage_own_event_sinks', 'manage_global_event_sinks') &&
        html`
          <p class="receivers-none">
            <${Button} size="small" icon="plus" href=${`/sinks/new?pattern=${encodeURIComponent(event.event_type)}`}>
              Make a sink for this type
            </${Button}>
          </p>
        `
      }
    `;
  }
  return html`
    ${stale}
    <ul class="receivers" aria-label="Receivers">
      ${deliveries.map(
        (delivery) =>
          html`
            <${ReceiverRow} key=${`${keyOf(delivery.receiver)} ${delivery.n}`}
              delivery=${delivery} onChange=${list.reload} />
          `,
      )}
    </ul>
  `;
}

/** @param {EventReceiver} receiver */
const keyOf = (receiver) => (receiver.type === 'sink' ? receiver.id : receiver.name);

/** @param {{delivery: EventDelivery, onChange: () => void}} props */
function ReceiverRow({ delivery, onChange }) {
  const { receiver, n, state, attempts } = delivery;
  const id = receiver.type === 'sink' ? receiver.id : null;
  const resend = useAction(async () => {
    if (id === null || n === null) return;
    const again = await api.post(at('/api/event-sinks/{id}/deliveries/{n}/resend', { id, n }));
    toast(`Queued again as #${again.n}`);
    onChange();
  });
  const waits = state === 'pending' && failingSinks.value?.sinks.some((one) => one.paused && one.id === id);
  const may = id !== null && n !== null && attempts !== null;
  return html`
    <li class="receiver">
      <div class="receiver-head">
        ${
          waits
            ? html`<${Status}>waits, sink paused</${Status}>`
            : html`<${Status} tone=${toneOf(state)} pulse=${state === 'pending'}>${state}</${Status}>`
        }
        <${ReceiverName} receiver=${receiver} linked=${attempts !== null} />
        ${n !== null && html`<span class="muted small">#${n}</span>`}
        <span class="grow"></span>
        ${
          may &&
          state !== 'pending' &&
          html`
            <${Button} size="small" icon="refresh" busy=${resend.busy} onClick=${() => resend.run()}
              aria-label=${`Resend to ${receiver.name}`}>
              Resend
            </${Button}>
          `
        }
      </div>
      <${ErrorNotice} error=${resend.error} />
      ${
        state === 'dropped' &&
        html`<p class="muted small">The queue of 100 events was full, so this event was not queued.</p>`
      }
      ${
        attempts === null
          ? html`<p class="muted small">This receiver is not yours, so its attempts are not shown.</p>`
          : state !== 'dropped' && html`<${Attempts} attempts=${attempts} to=${receiver.name} />`
      }
      ${
        state === 'pending' &&
        !waits &&
        (attempts?.length ?? 0) > 0 &&
        html`<p class="muted small">The delivery waits for its next attempt.</p>`
      }
    </li>
  `;
}

/** @param {{receiver: EventReceiver, linked: boolean}} props */
function ReceiverName({ receiver, linked }) {
  const href = receiver.type === 'sink' ? `/sinks/${receiver.id}` : `/methods/${encodeURIComponent(receiver.name)}`;
  return html`
    ${
      linked
        ? html`<a class="mono strong anywhere" href=${href}>${receiver.name}</a>`
        : html`<span class="mono strong anywhere">${receiver.name}</span>`
    }
    <${Badge}>${receiver.type === 'method' ? 'method' : receiver.owner === 'global' ? 'global sink' : 'sink'}</${Badge}>
  `;
}
