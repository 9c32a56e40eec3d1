/** Past events that match the filters, page by page: only one page is in the document. */
import { withQuery } from '../../lib/api.js';
import { exactTime, plural } from '../../lib/format.js';
import { html, useMemo, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { rangeOf } from '../audit/filters.js';
import { EventTable } from './table.js';
import { rowOf } from './tail-state.js';

const PAGE = 50;

/**
 * @param {{asked: Record<string, string>, pattern: string, opened: string, onOpen: (id: string) => void}} props
 *   `asked`: the filters of the address
 */
export function History({ asked, pattern, opened, onOpen }) {
  const { actor, text, space } = asked;
  // Memoised: a moving "last hour" would change the query at every render.
  const range = useMemo(() => rangeOf(asked), [asked.range, asked.since, asked.until]);
  const address = withQuery('/api/events', { type: pattern, space_id: space, actor, text, ...range, limit: PAGE });
  return html`<${Pages} key=${address} address=${address} opened=${opened} onOpen=${onOpen} />`;
}

/** @param {{address: string, opened: string, onOpen: (id: string) => void}} props */
function Pages({ address, opened, onOpen }) {
  // The cursors of the pages before this one, and of this one.
  const [cursors, setCursors] = useState(/** @type {string[]} */ ([]));
  const loaded = useResource(withQuery(address, { cursor: cursors.at(-1) }));
  const pending = pendingOf(loaded);
  if (pending) return pending;
  const { events, next_cursor: next } = loaded.data;
  const none = html`
    <${EmptyState} icon="filter" title=${next ? 'Nothing found so far' : 'No event matches'}>
      <p>
        ${
          next
            ? `Looked back to ${exactTime(timeOf(next))}. Search older events to go on.`
            : 'Change the filters, or choose a longer time range.'
        }
      </p>
    </${EmptyState}>
  `;
  return html`
    <div class="stack">
      <${ErrorNotice} error=${loaded.error} title="Not up to date" />
      <${Card} flush class="events-card">
        <${EventTable} events=${events.map(rowOf)} opened=${opened} onOpen=${onOpen} empty=${none} />
        <nav class="history-pages" aria-label="Pages">
          <${Button} disabled=${cursors.length === 0} onClick=${() => setCursors(cursors.slice(0, -1))}>
            Newer
          </${Button}>
          <span class="muted small" role="status">
            Page ${cursors.length + 1}, ${plural(events.length, 'event')}${
              next && events.length < PAGE && `, looked back to ${exactTime(timeOf(next))}`
            }
          </span>
          <${Button} disabled=${!next} busy=${loaded.loading && !loaded.current}
            onClick=${() => setCursors([...cursors, next])}>
            ${next && events.length < PAGE ? 'Search older events' : 'Older'}
          </${Button}>
        </nav>
      </${Card}>
    </div>
  `;
}

/** The time in an id: its first 48 bits are milliseconds. @param {string} id */
const timeOf = (id) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
