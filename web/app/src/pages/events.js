/** Live events and the history. */
import { useAction } from '../lib/action.js';
import { plural } from '../lib/format.js';
import { can } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { Drawer } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { SearchInput } from '../ui/search-input.js';
import { Loading, useSlow } from '../ui/spinner.js';
import { Pagination } from '../ui/table.js';
import { EventFacts, Receivers } from './events/details.js';
import { EmitDialog } from './events/emit-dialog.js';
import { EventFilters, HISTORY_FILTERS } from './events/filters.js';
import { History } from './events/history.js';
import { patternProblem, patternsOf } from './events/patterns.js';
import { indentJson, Payload, useEvent } from './events/payload.js';
import { EventTable } from './events/table.js';
import { useEventTail } from './events/tail.js';
import { MOST_ROWS } from './events/tail-state.js';

await loadStyles('events.css');

/** @typedef {import('./events/tail-state.js').EventRow} EventRow */

export default function EventsPage() {
  const query = useQuery();
  const pattern = query.get('pattern');
  const paused = query.get('paused') === '1';
  const problem = patternProblem(patternsOf(pattern));
  const past = HISTORY_FILTERS.some((name) => query.get(name));
  const tail = useEventTail({
    pattern: patternsOf(pattern).join(','),
    spaceId: query.get('space'),
    paused,
    off: problem !== '' || past,
  });
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
      <${SearchInput} label="Pattern" placeholder="Pattern, for instance custom.*, space.unhealthy" value=${pattern}
        onSearch=${(/** @type {string} */ text) => query.set({ pattern: text })} />
      ${
        !past &&
        html`
          <${Button} icon=${paused ? 'play' : 'pause'} onClick=${() => query.set({ paused: paused ? null : 1 })}>
            ${paused ? 'Resume' : 'Pause'}
          </${Button}>
          <${LinkState} tail=${tail} paused=${paused} />
        `
      }
    </div>
    <${EventFilters} onOpen=${open} />
    ${problem && html`<${ErrorNotice} error=${{ detail: problem }} />`}
    ${
      !problem &&
      past &&
      html`
        <${History} asked=${query.all} pattern=${patternsOf(pattern).join(',')} opened=${query.get('event')}
          onOpen=${open} />
      `
    }
    ${
      !problem &&
      !past &&
      html`
        <${Tail} tail=${tail} filtered=${Boolean(pattern || query.get('space'))} mayEmit=${mayEmit}
          opened=${query.get('event')} onOpen=${open} />
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

/** @param {{tail: ReturnType<typeof useEventTail>, paused: boolean}} props */
function LinkState({ tail, paused }) {
  const { link, held, overflowed } = tail;
  let state = html`<${Status} tone="good" pulse>Live</${Status}>`;
  if (link === 'failed') state = html`<${Status} tone="bad">Not live</${Status}>`;
  else if (link === 'waiting') state = html`<${Status} tone="warn" pulse>Reconnecting</${Status}>`;
  else if (paused)
    state = html`
      <${Status} tone="warn">
        Paused${held.length > 0 && `, ${overflowed ? 'more than ' : ''}${plural(held.length, 'new event')}`}
      </${Status}>
    `;
  else if (link === 'connecting') state = html`<${Status}>Connecting</${Status}>`;
  return html`<div class="tail-state" role="status">${state}</div>`;
}

/**
 * @param {{tail: ReturnType<typeof useEventTail>, filtered: boolean, mayEmit: boolean, opened: string, onOpen: (id:
 *   string) => void}} props
 */
function Tail({ tail, filtered, mayEmit, opened, onOpen }) {
  const more = useAction(tail.loadMore);
  const slow = useSlow(tail.events === null);
  if (tail.events === null && tail.error) return html`<${ErrorNotice} error=${tail.error} />`;
  if (tail.events === null) return slow ? html`<${Loading} />` : html`<div class="loading-space"></div>`;
  const list = {
    hasMore: tail.cursor !== null,
    loadMore: () => void more.run(),
    loadingMore: more.busy,
    moreError: more.error,
  };
  return html`
    <div class="stack">
      <${ErrorNotice} error=${tail.error} />
      <${Card} flush class="events-card">
        <${EventTable} events=${tail.events} fresh=${tail.fresh} opened=${opened} onOpen=${onOpen}
          empty=${html`<${Empty} filtered=${filtered} mayEmit=${mayEmit} />`} />
        <${Pagination} list=${list} />
      </${Card}>
      ${
        tail.trimmed &&
        html`
          <p class="muted small">
            Only the newest ${MOST_ROWS} are kept here. ${' '}
            <a href=${olderThan(tail.events)}>Browse older events</a>
          </p>
        `
      }
    </div>
  `;
}

/** The history before the oldest row. @param {EventRow[]} events */
function olderThan(events) {
  const params = new URLSearchParams(location.search);
  params.set('range', 'own');
  params.set('until', events.at(-1)?.event_ts ?? '');
  return `?${params}`;
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
