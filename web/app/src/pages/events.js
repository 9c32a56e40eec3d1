/** Live events and the history. */
import { withQuery } from '../lib/api.js';
import { can } from '../lib/me.js';
import { html, useMemo, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { PageHeader } from '../ui/card.js';
import { Drawer } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { SearchInput } from '../ui/search-input.js';
import { EventFacts, Receivers } from './events/details.js';
import { EmitDialog } from './events/emit-dialog.js';
import { EventFilters, HISTORY_FILTERS } from './events/filters.js';
import { Histogram } from './events/histogram.js';
import { patternProblem, patternsOf } from './events/patterns.js';
import { indentJson, Payload, useEvent } from './events/payload.js';
import { rowOf } from './events/row.js';
import { EventTable } from './events/table.js';
import { rangeOf } from './live-list/filters.js';
import { History } from './live-list/history.js';
import { LiveControls, TailView } from './live-list/live.js';
import { useTail } from './live-list/tail.js';

await loadStyles('events.css');

/** @typedef {import('./events/row.js').EventRow} EventRow */

export default function EventsPage() {
  const query = useQuery();
  const pattern = patternsOf(query.get('pattern')).join(',');
  const problem = patternProblem(patternsOf(query.get('pattern')));
  const past = HISTORY_FILTERS.some((name) => query.get(name));
  const tail = useEventTail(pattern, { off: problem !== '' || past });
  const [emitting, setEmitting] = useState(/** @type {{type?: string, payload?: string} | null} */ (null));
  const mayEmit = can('use_spaces', 'manage_spaces');
  const open = (/** @type {string | null} */ id) => query.set({ event: id }, { push: id !== null });

  return html`
    <${PageHeader} title="Events"
      description="Live events and the history. Sinks and methods receive the events that match their patterns."
      actions=${
        mayEmit && html`<${Button} kind="primary" icon="bolt" onClick=${() => setEmitting({})}>Emit event</${Button}>`
      } />
    <div class="toolbar">
      <${SearchInput} label="Pattern" placeholder="Pattern, for instance custom.*, space.unhealthy"
        value=${query.get('pattern')} onSearch=${(/** @type {string} */ text) => query.set({ pattern: text })} />
      ${!past && html`<${LiveControls} tail=${tail} one="event" />`}
    </div>
    <${EventFilters} onOpen=${open} />
    ${problem && html`<${ErrorNotice} error=${{ detail: problem }} />`}
    ${!problem && past && html`<${PastEvents} pattern=${pattern} opened=${query.get('event')} onOpen=${open} />`}
    ${
      !problem &&
      !past &&
      html`
        <${TailView} tail=${tail} many="events" class="events-card"
          timeOf=${(/** @type {EventRow} */ row) => row.event_ts}
          table=${(/** @type {EventRow[]} */ rows) => html`
            <${EventTable} events=${rows} fresh=${tail.fresh} opened=${query.get('event')} onOpen=${open}
              empty=${html`
                <${Empty} filtered=${Boolean(pattern || query.get('space'))} mayEmit=${mayEmit} />
              `} />
          `} />
      `
    }
    ${
      query.get('event') &&
      html`
        <${EventDrawer} key=${query.get('event')} id=${query.get('event')} mayEmit=${mayEmit}
          onClose=${() => open(null)} onCopy=${setEmitting} />
      `
    }
    ${
      emitting &&
      html`<${EmitDialog} ...${emitting} onClose=${() => setEmitting(null)} onEmitted=${(/** @type {string} */ id) => {
        setEmitting(null);
        open(id);
      }} />`
    }
  `;
}

/**
 * The newest events, followed by live events. The stream has no filter for the space, so `accepts` filters its events.
 * @param {string} pattern
 * @param {{off: boolean}} options
 */
function useEventTail(pattern, { off }) {
  const query = useQuery();
  const space = query.get('space');
  return useTail(
    {
      path: '/api/events',
      name: 'events',
      query: { type: pattern, space_id: space },
      stream: withQuery('/api/events/stream', { pattern }),
      rowOf,
      accepts: (event) => !space || event.space_id === space,
    },
    { paused: query.get('paused') === '1', off },
  );
}

/** @param {{pattern: string, opened: string, onOpen: (id: string) => void}} props */
function PastEvents({ pattern, opened, onOpen }) {
  const { actor, text, space, range, since, until } = useQuery().all;
  // Memoised: a moving "last hour" would change the query at every render.
  const times = useMemo(() => rangeOf({ range, since, until }), [range, since, until]);
  const filters = { type: pattern, space_id: space, ...times };
  const address = withQuery('/api/events', { ...filters, actor, text });
  // The server does not count events by actor or by text in the payload, so these filters have no histogram.
  const isCounted = !actor && !text;
  return html`
    ${isCounted && html`<${Histogram} query=${filters} />`}
    <${History} address=${address} name="events" class="events-card"
      table=${(/** @type {any[]} */ events, /** @type {any} */ empty) => html`
        <${EventTable} events=${events.map(rowOf)} opened=${opened} onOpen=${onOpen} empty=${empty} />
      `} />
  `;
}

/** @param {{filtered: boolean, mayEmit: boolean}} props */
function Empty({ filtered, mayEmit }) {
  if (filtered)
    return html`
      <${EmptyState} icon="filter" title="Nothing matches yet">
        <p>Matching events appear here at once.</p>
      </${EmptyState}>
    `;
  return html`
    <${EmptyState} icon="activity" title="No events yet"
      command=${mayEmit ? `svc event build.done '{"commit":"4f2a"}'` : undefined}>
      <p>Spaces emit events when they start and stop, and users can emit their own.</p>
    </${EmptyState}>
  `;
}

/**
 * @param {{id: string, mayEmit: boolean, onClose: () => void, onCopy: (event: {type: string, payload: string}) =>
 *   void}} props
 */
function EventDrawer({ id, mayEmit, onClose, onCopy }) {
  const loaded = useEvent(id);
  const data = loaded.data;
  const copy = () => {
    if (data) onCopy({ type: data.event.event_type.replace(/^custom\./, ''), payload: indentJson(data.payload) });
    onClose();
  };
  return html`
    <${Drawer} title=${data ? html`<span class="mono">${data.event.event_type}</span>` : 'Event'} onClose=${onClose}
      footer=${
        data &&
        html`
          ${
            mayEmit &&
            data.event.event_type.startsWith('custom.') &&
            html`<${Button} icon="copy" onClick=${copy}>Emit a copy</${Button}>`
          }
          <${Button} href=${`/events/${id}`}>Open its page</${Button}>
        `
      }>
      ${!data && pendingOf(loaded)}
      ${
        data &&
        html`
          <div class="stack-large">
            <${EventFacts} event=${data.event} />
            <section class="stack-small"><h3>Payload</h3><${Payload} text=${data.payload} /></section>
            <section class="stack-small"><h3>Receivers</h3><${Receivers} event=${data.event} /></section>
          </div>
        `
      }
    </${Drawer}>
  `;
}
