/** Recorded calls: live, and the history. */
import { plural } from '../lib/format.js';
import { can } from '../lib/me.js';
import { html } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, Notice } from '../ui/error-notice.js';
import { SearchInput } from '../ui/search-input.js';
import { CallDrawer } from './calls/drawer.js';
import { CallFilters, useCallFilters } from './calls/filters.js';
import { CallTable } from './calls/table.js';
import { History } from './live-list/history.js';
import { LiveControls, TailView } from './live-list/live.js';
import { useTail } from './live-list/tail.js';

/** @import { Call } from 'api' */

await loadStyles('calls.css');

export default function CallsPage() {
  const query = useQuery();
  const { filters, stream, list, problem, isFiltered, isPast } = useCallFilters();
  const tail = useTail(
    { path: '/api/calls', name: 'calls', query: filters, stream, rowOf: (call) => call },
    { paused: query.get('paused') === '1', off: problem !== '' || isPast },
  );
  const opened = query.get('call');
  const open = (/** @type {string | null} */ id) => query.set({ call: id }, { push: id !== null });
  return html`
    <${PageHeader} title="Calls"
      description=${
        can('view_audit')
          ? 'Every call of a method: who, when, how long, and how it ended.'
          : 'Your calls, and calls of your methods.'
      } />
    <div class="toolbar">
      <${SearchInput} label="Method" placeholder="Method, for instance orders.create" value=${query.get('method')}
        onSearch=${(/** @type {string} */ text) => query.set({ method: text.trim() })} />
      ${!isPast && html`<${LiveControls} tail=${tail} one="call" />`}
    </div>
    <${CallFilters} />
    ${problem && html`<${ErrorNotice} error=${{ detail: problem }} />`}
    ${
      !problem &&
      isPast &&
      html`
        <${History} address=${list} name="calls" notes=${notesOf}
          table=${(/** @type {Call[]} */ calls, /** @type {any} */ empty) => html`
            <${CallTable} calls=${calls} opened=${opened} onOpen=${open} empty=${empty} />
          `} />
      `
    }
    ${
      !problem &&
      !isPast &&
      html`
        <${TailView} tail=${tail} many="calls" timeOf=${(/** @type {Call} */ call) => call.at}
          notes=${notesOf(tail.about)}
          table=${(/** @type {Call[]} */ calls) => html`
            <${CallTable} calls=${calls} fresh=${tail.fresh} opened=${opened} onOpen=${open}
              empty=${html`<${Empty} isFiltered=${isFiltered} hasMore=${tail.cursor !== null} />`} />
          `} />
      `
    }
    ${opened && html`<${CallDrawer} key=${opened} id=${opened} onClose=${() => open(null)} />`}
  `;
}

/** What is missing in the list. @param {{dropped?: number, incomplete?: boolean}} page */
function notesOf({ dropped = 0, incomplete = false }) {
  return html`
    ${
      dropped > 0 &&
      html`
        <${Notice} tone="warn" icon="alert" title=${`${plural(dropped, 'call')} missing`}>
          <p>
            They came faster than the server could record them. The calls were made and answered, and the statistics of
            the methods count them.
          </p>
        </${Notice}>
      `
    }
    ${
      incomplete &&
      html`
        <${Notice} tone="warn" icon="alert" title="Some calls were not read">
          <p>Methods of too many owners were called at the same time. Choose a caller or an owner.</p>
        </${Notice}>
      `
    }
  `;
}

/** @param {{isFiltered: boolean, hasMore: boolean}} props `hasMore`: older calls were not searched yet */
function Empty({ isFiltered, hasMore }) {
  if (isFiltered || hasMore)
    return html`
      <${EmptyState} icon="filter" title=${hasMore ? 'Nothing found so far' : 'No call matches yet'}>
        <p>
          ${hasMore ? 'Load more to search older calls.' : 'Matching calls appear here about a second after they end.'}
        </p>
      </${EmptyState}>
    `;
  return html`
    <${EmptyState} icon="exchange" title="No calls yet" command=${`svc method call hello '{"name":"Ada"}'`}>
      <p>A call appears here about a second after it ends.</p>
    </${EmptyState}>
  `;
}
