/** The filters of past events, stored in the query string. */
import { html } from '../../lib/preact.js';
import { useQuery } from '../../router.js';
import { FilterBar, RANGE_FILTERS, SpaceChoice, TimeRange, Word } from '../live-list/filters.js';

/** Filters that need the history: the stream of new events does not support them. */
export const HISTORY_FILTERS = [...RANGE_FILTERS, 'actor', 'text'];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @param {{onOpen: (id: string) => void}} props `onOpen`: opens the event with this id */
export function EventFilters({ onOpen }) {
  const query = useQuery();
  const search = (/** @type {string} */ text) => {
    if (UUID.test(text)) onOpen(text.toLowerCase());
    else query.set({ text });
  };
  return html`
    <${FilterBar} label="Search past events" names=${[...HISTORY_FILTERS, 'space']}>
      <${Word} name="text" label="Payload contains, or event id" onPause=${search} />
      <${Word} name="actor" label="Emitted by" />
      <${SpaceChoice} />
      <${TimeRange} />
    </${FilterBar}>
  `;
}
