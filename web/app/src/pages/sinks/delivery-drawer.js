/** One delivery: its event and its attempts. If the event was sent again, links lead to the other delivery. */
import { at, withQuery } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Status, toneOf } from '../../ui/badge.js';
import { KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Timeline } from './timeline.js';

/** @import { Delivery, Sink } from 'api' */

const REFRESH_MS = 3_000;

/**
 * @param {{sink: Sink, n: string, error: any, resendButton: (one: Delivery) => any, onClose:
 *   () => void}} props
 */
export function DeliveryDrawer({ sink, n, error, resendButton, onClose }) {
  const number = /^\d{1,15}$/.test(n) ? Number(n) : 0;
  // The cursor selects deliveries with smaller numbers, newest first. So the result is this delivery, if it exists.
  const loaded = useResource(
    withQuery(at('/api/event-sinks/{id}/deliveries', { id: sink.id }), {
      exchanges: true,
      limit: 1,
      cursor: number + 1,
    }),
    {
      every: REFRESH_MS,
    },
  );
  const delivery = loaded.current ? loaded.data?.deliveries.find((one) => one.n === number) : undefined;
  return html`
    <${Drawer} title=${`Delivery #${n}`} onClose=${onClose} footer=${delivery && resendButton(delivery)}>
      <div class="stack-large">
        <${ErrorNotice} error=${error} title="Not queued again" />
        ${
          delivery
            ? html`<${Facts} delivery=${delivery} />
              <section class="stack-small">
                <h3>Attempts</h3><${Timeline} key=${n} sink=${sink} delivery=${delivery} />
              </section>`
            : (pendingOf(loaded) ?? html`<${NotFound} n=${n} />`)
        }
      </div>
    </${Drawer}>
  `;
}

/** @param {{n: string}} props */
function NotFound({ n }) {
  return html`
    <p>
      Delivery <span class="mono">#${n}</span> is not in the log. By default, finished deliveries are kept for 7 days.
      At most 10,000 of a sink are kept.
    </p>
  `;
}

/** @param {{delivery: Delivery}} props */
function Facts({ delivery }) {
  const link = (/** @type {number} */ n) => html`<a class="mono" href=${`?delivery=${n}`}>#${n}</a>`;
  return html`
    <${KeyValue} items=${[
      ['Event', html`<a class="mono anywhere" href=${`/events/${delivery.event_id}`}>${delivery.event_type}</a>`],
      ['Event id', html`<span class="mono anywhere">${delivery.event_id}</span>`],
      ['State', html`<${Status} tone=${toneOf(delivery.state)}>${delivery.state}</${Status}>`],
      delivery.resent_as && ['Sent again as', link(delivery.resent_as)],
      delivery.resend_of && ['Sends again', link(delivery.resend_of)],
    ]} />
  `;
}
