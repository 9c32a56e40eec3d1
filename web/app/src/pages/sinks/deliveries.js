/** The delivery log of one sink. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { plural } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { sinkState } from '../../lib/sinks.js';
import { useQuery } from '../../router.js';
import { Status, toneOf } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';
import { Pagination, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { outcomeOf } from '../events/attempts.js';
import { exampleType } from '../events/patterns.js';
import { DeliveryDrawer } from './delivery-drawer.js';
import { ResendDeadDialog } from './resend-dialogs.js';

/** @import { Delivery, Sink } from 'api' */

const REFRESH_MS = 3_000;
const STATES = [
  { value: '', label: 'Tried' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Dead' },
];
/** The maximum number of deliveries that one request may send again. */
const MOST_RESENT = 1_000;

/** @param {{sink: Sink, still: boolean, onChange: () => void}} props `still`: the log is not requested */
export function Deliveries({ sink, still, onChange }) {
  const query = useQuery();
  const state = query.get('state');
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const [resending, setResending] = useState(false);
  const list = useList(still ? null : at('/api/event-sinks/{id}/deliveries', { id: sink.id }), 'deliveries', {
    // Many waiting deliveries would hide a failing one. They are listed only if the user chooses a state.
    query: { state, tried: state ? null : true },
    every: REFRESH_MS,
    id: (/** @type {Delivery} */ one) => String(one.n),
  });
  const changed = async (/** @type {string[]} */ stillChosen = []) => {
    setChosen(new Set(stillChosen));
    onChange();
    await list.reload();
  };
  const resend = useAction(async (/** @type {Delivery} */ delivery) => {
    const again = await api.post(at('/api/event-sinks/{id}/deliveries/{n}/resend', { id: sink.id, n: delivery.n }));
    toast(`Queued again as #${again.n}`);
    await changed();
  });
  const resendChosen = useAction(async () => {
    const all = [...chosen];
    const numbers = all.slice(0, MOST_RESENT).map(Number);
    const { feeding, skipped } = await api.post(at('/api/event-sinks/{id}/resend', { id: sink.id }), {
      deliveries: numbers,
    });
    toast(
      `${plural(feeding, 'delivery', 'deliveries')} queued again${skipped.length ? `, ${skipped.length} skipped` : ''}`,
    );
    await changed(all.slice(MOST_RESENT));
  });
  const opened = query.get('delivery');
  const open = (/** @type {Delivery | null} */ one) => query.set({ delivery: one?.n ?? null }, { push: one !== null });
  const resendButton = (/** @type {Delivery} */ one) =>
    one.state !== 'pending' &&
    html`
      <${Button} size="small" icon="refresh" disabled=${resend.busy} aria-label=${`Resend #${one.n}`}
        onClick=${() => resend.run(one)}>
        Resend
      </${Button}>
    `;
  const choice = {
    keys: chosen,
    onChange: setChosen,
    label: (/** @type {Delivery} */ one) => `Choose #${one.n}`,
    may: (/** @type {Delivery} */ one) => one.state !== 'pending',
  };
  return html`
    <${Card} title="Deliveries" flush
      description=${`Newest first. ${endText(sink)}`}
      actions=${html`
        <${Segmented} label="State" value=${state}
          onInput=${(/** @type {string} */ value) => query.set({ state: value })} options=${STATES} />
        <${Button} size="small" icon="refresh" onClick=${() => setResending(true)}>Resend all dead</${Button}>
      `}>
      ${!opened && html`<${ErrorNotice} error=${resend.error} title="Not queued again" />`}
      <${ErrorNotice} error=${resendChosen.error} title="Not queued again" />
      ${
        chosen.size > 0 &&
        html`
          <div class="choice-bar" role="group" aria-label="Chosen deliveries">
            <span>${plural(chosen.size, 'delivery', 'deliveries')} chosen</span>
            <${Button} size="small" kind="primary" icon="refresh" busy=${resendChosen.busy}
              onClick=${() => resendChosen.run()}>
              Resend chosen
            </${Button}>
            <${Button} size="small" kind="ghost" onClick=${() => setChosen(new Set())}>Clear</${Button}>
          </div>
        `
      }
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Deliveries" choosable="deliveries" columns=${columnsOf(resendButton, sink)}
            rows=${list.items} choice=${choice}
            rowKey=${(/** @type {Delivery} */ one) => String(one.n)} onRow=${open}
            selected=${(/** @type {Delivery} */ one) => String(one.n) === opened}
            empty=${html`<${Empty} sink=${sink} state=${state} />`} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      opened &&
      html`
        <${DeliveryDrawer} sink=${sink} n=${opened} error=${resend.error} resendButton=${resendButton}
          onClose=${() => open(null)} />
      `
    }
    ${
      resending &&
      html`<${ResendDeadDialog} sink=${sink} onClose=${() => setResending(false)} onDone=${() => changed()} />`
    }
  `;
}

/** What the policy of this sink does after the last attempt. @param {Sink} sink */
function endText({ delivery }) {
  const attempts = delivery?.attempts ?? 0;
  const failed = attempts === 1 ? 'one failed attempt' : attempts ? `${attempts} failed attempts` : 'its last attempt';
  return delivery?.on_exhausted === 'pause'
    ? `After ${failed} of a delivery, the service pauses this sink, and the delivery stays in the queue.`
    : `A delivery of this sink is dead after ${failed}.`;
}

/**
 * @param {(one: Delivery) => any} resendButton
 * @param {Sink} sink
 * @returns {import('../../ui/table.js').Column<Delivery>[]}
 */
function columnsOf(resendButton, sink) {
  return [
    {
      key: 'event_type',
      label: 'Event',
      cell: (one) => html`<span class="mono">${one.event_type}</span> <span class="muted small">#${one.n}</span>`,
    },
    {
      key: 'state',
      label: 'State',
      shrink: true,
      phone: 'line',
      cell: (one) =>
        html`
          <${DeliveryStatus} delivery=${one} sink=${sink} />
          ${
            one.resent_as &&
            html` <a class="small" href=${`?delivery=${one.resent_as}`}>sent again as #${one.resent_as}</a>`
          }
        `,
    },
    {
      key: 'attempts',
      label: 'Attempts',
      align: 'right',
      shrink: true,
      phone: 'hidden',
      cell: (one) => one.attempts.length,
    },
    { key: 'answer', label: 'Last answer', phone: 'more', cell: (one) => html`<${LastAnswer} delivery=${one} />` },
    {
      key: 'at',
      label: 'When',
      shrink: true,
      phone: 'aside',
      cell: (one) => html`<${Time} value=${one.attempts.at(-1)?.at} none="waiting" />`,
    },
    { key: 'actions', label: 'Actions', hideLabel: true, shrink: true, phone: 'line-aside', cell: resendButton },
  ];
}

/**
 * A pending delivery with an attempt is shown as `retrying`; a pending delivery of an inactive sink waits.
 * @param {{delivery: Delivery, sink: Sink}} props
 */
function DeliveryStatus({ delivery, sink }) {
  if (delivery.state !== 'pending')
    return html`<${Status} tone=${toneOf(delivery.state)}>${delivery.state}</${Status}>`;
  if (!sink.active) {
    const { name } = sinkState(sink);
    return html`<${Status} title=${`The sink is ${name}`}>waits, sink ${name}</${Status}>`;
  }
  const state = delivery.attempts.length > 0 ? 'retrying' : 'pending';
  return html`<${Status} tone=${toneOf(state)} pulse>${state}</${Status}>`;
}

/** @param {{delivery: Delivery}} props */
function LastAnswer({ delivery }) {
  const last = delivery.attempts.at(-1);
  if (!last) return html`<span class="muted">not tried yet</span>`;
  return html`
    <span class="last-result">
      <span>${outcomeOf(last)}</span>
      ${last.error && html`<span class="last-error small" title=${last.error}>${last.error}</span>`}
    </span>
  `;
}

/** @param {{sink: Sink, state: string}} props */
function Empty({ sink, state }) {
  if (state)
    return html`
      <${EmptyState} icon="filter" title=${`No ${state} deliveries`}>
        <p>Choose another state to see other deliveries.</p>
      </${EmptyState}>
    `;
  if (sink.queue_depth > 0)
    return html`
      <${EmptyState} icon="send" title="Nothing was tried yet">
        <p>${plural(sink.queue_depth, 'event')} in the queue. Choose Pending to see them.</p>
      </${EmptyState}>
    `;
  const type = exampleType(sink.patterns[0]);
  const custom = type.startsWith('custom.');
  return html`
    <${EmptyState} icon="send" title="Nothing delivered yet"
      command=${custom ? `svc event ${type.slice('custom.'.length)} '{"hello":"world"}'` : undefined}>
      <p>Every event that matches appears here with its attempts.</p>
    </${EmptyState}>
  `;
}
