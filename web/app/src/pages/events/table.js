import { html } from '../../lib/preact.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

/** @typedef {import('./row.js').EventRow} EventRow */

/**
 * @param {{events: EventRow[], fresh?: Set<string>, opened: string, onOpen: (id: string) => void, empty: any}} props
 *   `fresh`: ids of events that came while the page was open
 */
export function EventTable({ events, fresh, opened, onOpen, empty }) {
  /** @type {import('../../ui/table.js').Column<EventRow>[]} */
  const columns = [
    {
      key: 'event_type',
      label: 'Type',
      mono: true,
      cell: (event) => html`<span class=${fresh?.has(event.id) ? 'fresh' : undefined}>${event.event_type}</span>`,
    },
    {
      key: 'data',
      label: 'Payload',
      phone: 'line',
      cell: (event) => html`<span class="json-brief mono">${event.brief}</span>`,
    },
    {
      key: 'actor',
      label: 'By',
      phone: 'line-aside',
      cell: (event) => html`<span class="mono nowrap">${event.actor.username ?? event.actor.kind}</span>`,
    },
    {
      key: 'event_ts',
      label: 'When',
      shrink: true,
      phone: 'aside',
      cell: (event) => html`<${Time} value=${event.event_ts} />`,
    },
  ];
  return html`
    <${Table} label="Events" choosable="events" columns=${columns} rows=${events}
      rowKey=${(/** @type {EventRow} */ event) => event.id}
      onRow=${(/** @type {EventRow} */ event) => onOpen(event.id)}
      selected=${(/** @type {EventRow} */ event) => event.id === opened} empty=${empty} />
  `;
}
