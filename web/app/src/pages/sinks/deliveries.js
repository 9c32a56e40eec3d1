/** The delivery log of one sink. */
import { useAction } from '../../lib/action.js';
import { api } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Status, toneOf } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card, KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';
import { Pagination, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { Attempts, outcomeOf } from '../events/attempts.js';
import { exampleType } from '../events/patterns.js';

/**
 * @typedef {{n: number, event_id: string, event_type: string, state: 'pending' | 'delivered' | 'dead', attempts:
 *   import('../events/attempts.js').Attempt[]}} Delivery
 */
/** @typedef {import('./health.js').Sink} Sink */

const REFRESH_MS = 3_000;
const STATES = [
  { value: '', label: 'All' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Dead' },
];

/** @param {{sink: Sink, still: boolean, onChange: () => void}} props `still`: the log is not polled */
export function Deliveries({ sink, still, onChange }) {
  const query = useQuery();
  const state = query.get('state');
  const list = useList(still ? null : `/api/event-sinks/${sink.id}/deliveries`, 'deliveries', {
    query: { state },
    every: REFRESH_MS,
    id: (/** @type {Delivery} */ one) => String(one.n),
  });
  const resend = useAction(async (/** @type {Delivery} */ delivery) => {
    const again = await api.post(`/api/event-sinks/${sink.id}/deliveries/${delivery.n}/resend`);
    toast(`Queued again as #${again.n}`);
    onChange();
    await list.reload();
  });
  const opened = list.items?.find((one) => String(one.n) === query.get('delivery'));
  const open = (/** @type {Delivery | null} */ one) => query.set({ delivery: one?.n ?? null }, { push: one !== null });
  const resendButton = (/** @type {Delivery} */ one) =>
    one.state !== 'pending' &&
    html`
      <${Button} size="small" icon="refresh" disabled=${resend.busy} aria-label=${`Resend #${one.n}`}
        onClick=${() => resend.run(one)}>
        Resend
      </${Button}>
    `;
  return html`
    <${Card} title="Deliveries" flush
      description="Newest first. A delivery is dead after its last failed attempt. The default is three attempts."
      actions=${html`
        <${Segmented} label="State" value=${state}
          onInput=${(/** @type {string} */ value) => query.set({ state: value })} options=${STATES} />
      `}>
      ${!opened && html`<${ErrorNotice} error=${resend.error} title="Not queued again" />`}
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Deliveries" columns=${columnsOf(resendButton)} rows=${list.items}
            rowKey=${(/** @type {Delivery} */ one) => String(one.n)} onRow=${open}
            selected=${(/** @type {Delivery} */ one) => one === opened}
            empty=${html`<${Empty} sink=${sink} state=${state} />`} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      opened &&
      html`
        <${DeliveryDrawer} delivery=${opened} error=${resend.error} button=${resendButton(opened)}
          onClose=${() => open(null)} />
      `
    }
  `;
}

/** @param {(one: Delivery) => any} resendButton */
function columnsOf(resendButton) {
  return [
    {
      key: 'event_type',
      label: 'Event',
      cell: (/** @type {Delivery} */ one) =>
        html`<span class="mono">${one.event_type}</span> <span class="muted small">#${one.n}</span>`,
    },
    {
      key: 'state',
      label: 'State',
      shrink: true,
      cell: (/** @type {Delivery} */ one) =>
        html`<${Status} tone=${toneOf(one.state)} pulse=${one.state === 'pending'}>${one.state}</${Status}>`,
    },
    {
      key: 'attempts',
      label: 'Attempts',
      align: /** @type {const} */ ('right'),
      shrink: true,
      cell: (/** @type {Delivery} */ one) => one.attempts.length,
    },
    {
      key: 'answer',
      label: 'Last answer',
      cell: (/** @type {Delivery} */ one) => html`<${LastAnswer} delivery=${one} />`,
    },
    {
      key: 'at',
      label: 'When',
      shrink: true,
      cell: (/** @type {Delivery} */ one) => html`<${Time} value=${one.attempts.at(-1)?.at} none="waiting" />`,
    },
    { key: 'actions', label: 'Actions', hideLabel: true, shrink: true, cell: resendButton },
  ];
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
        <p>Choose All to see other deliveries.</p>
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

/** @param {{delivery: Delivery, error: any, button: any, onClose: () => void}} props */
function DeliveryDrawer({ delivery, error, button, onClose }) {
  return html`
    <${Drawer} title=${`Delivery #${delivery.n}`} onClose=${onClose} footer=${button}>
      <div class="stack-large">
        <${ErrorNotice} error=${error} title="Not queued again" />
        <${KeyValue} items=${[
          ['Event', html`<a class="mono anywhere" href=${`/events/${delivery.event_id}`}>${delivery.event_type}</a>`],
          ['Event id', html`<span class="mono anywhere">${delivery.event_id}</span>`],
          ['State', html`<${Status} tone=${toneOf(delivery.state)}>${delivery.state}</${Status}>`],
        ]} />
        <section class="stack-small"><h3>Attempts</h3><${Attempts} attempts=${delivery.attempts} /></section>
      </div>
    </${Drawer}>
  `;
}
