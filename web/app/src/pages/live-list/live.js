/** The view of a tail (see `tail.js`): the state of its stream, its rows, and a button that loads more rows. */
import { useAction } from '../../lib/action.js';
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { loadStyles } from '../../lib/styles.js';
import { useQuery } from '../../router.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Loading, useSlow } from '../../ui/spinner.js';
import { Pagination } from '../../ui/table.js';
import { MOST_ROWS } from './tail-state.js';

await loadStyles('live-list.css');

/** @typedef {ReturnType<typeof import('./tail.js').useTail>} TailOfList */

/**
 * Pauses and resumes the tail, and shows the state of its stream.
 * @param {{tail: TailOfList, one: string}} props `one`: what a record is called
 */
export function LiveControls({ tail, one }) {
  const query = useQuery();
  const paused = query.get('paused') === '1';
  return html`
    <${Button} icon=${paused ? 'play' : 'pause'} onClick=${() => query.set({ paused: paused ? null : 1 })}>
      ${paused ? 'Resume' : 'Pause'}
    </${Button}>
    <div class="tail-state" role="status">${stateOf(tail, paused, one)}</div>
  `;
}

/** @param {TailOfList} tail @param {boolean} paused @param {string} one */
function stateOf({ link, held, overflowed }, paused, one) {
  if (link === 'failed') return html`<${Status} tone="bad">Not live</${Status}>`;
  if (link === 'waiting') return html`<${Status} tone="warn" pulse>Reconnecting</${Status}>`;
  if (paused)
    return html`
      <${Status} tone="warn">
        Paused${held.length > 0 && `, ${overflowed ? 'more than ' : ''}${plural(held.length, `new ${one}`)}`}
      </${Status}>
    `;
  if (link === 'connecting') return html`<${Status}>Connecting</${Status}>`;
  return html`<${Status} tone="good" pulse>Live</${Status}>`;
}

/**
 * @param {object} props
 * @param {TailOfList} props.tail
 * @param {string} props.many what the records are called
 * @param {(rows: import('./tail-state.js').Row[]) => any} props.table
 * @param {(row: import('./tail-state.js').Row) => string} props.timeOf
 * @param {any} [props.notes] shown above the table
 * @param {string} [props.class] of the card
 */
export function TailView({ tail, many, table, timeOf, notes, class: className }) {
  const more = useAction(tail.loadMore);
  const slow = useSlow(tail.rows === null);
  if (tail.rows === null && tail.error) return html`<${ErrorNotice} error=${tail.error} />`;
  if (tail.rows === null) return slow ? html`<${Loading} />` : html`<div class="loading-space"></div>`;
  const list = {
    hasMore: tail.cursor !== null,
    loadMore: () => void more.run(),
    loadingMore: more.busy,
    moreError: more.error,
  };
  const last = tail.rows.at(-1);
  return html`
    <div class="stack">
      <${ErrorNotice} error=${tail.error} />
      ${notes}
      <${Card} flush class=${className}>
        ${table(tail.rows)}
        <${Pagination} list=${list} />
      </${Card}>
      ${
        tail.trimmed &&
        html`
          <p class="muted small">
            Only the newest ${MOST_ROWS} are kept here. ${' '}
            <a href=${olderThan(last ? timeOf(last) : '')}>Browse older ${many}</a>
          </p>
        `
      }
    </div>
  `;
}

/** The address of the history before a time. @param {string} time */
function olderThan(time) {
  const params = new URLSearchParams(location.search);
  params.set('range', 'own');
  params.set('until', time);
  return `?${params}`;
}
