/** Past records that match the filters, page by page: only one page is in the document. */
import { withQuery } from '../../lib/api.js';
import { useCursorPages } from '../../lib/cursor-pages.js';
import { exactTime, plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';

/** @import { Address } from 'requests' */

const PAGE = 50;

/**
 * @param {object} props
 * @param {Address<'/api/events'> | Address<'/api/calls'>} props.address of the list in the API, with its filters
 * @param {'events' | 'calls'} props.name the key of the list in the response
 * @param {(records: any[], empty: any) => any} props.table
 * @param {(page: any) => any} [props.notes] shown above the table
 * @param {string} [props.class] of the card
 */
export function History({ address, ...props }) {
  return html`<${Pages} key=${address} address=${withQuery(address, { limit: PAGE })} ...${props} />`;
}

/** @param {Parameters<typeof History>[0]} props */
function Pages({ address, name, table, notes, class: className }) {
  const pages = useCursorPages(address);
  const loaded = pages.resource;
  const pending = pendingOf(loaded);
  if (pending) return pending;
  const { [name]: records, next_cursor: next } = /** @type {any} */ (loaded.data);
  const one = name.slice(0, -1);
  const none = html`
    <${EmptyState} icon="filter" title=${next ? 'Nothing found so far' : `No ${one} matches`}>
      <p>
        ${
          next
            ? `Looked back to ${exactTime(timeOf(next))}. Search older ${name} to go on.`
            : 'Change the filters, or choose a longer time range.'
        }
      </p>
    </${EmptyState}>
  `;
  return html`
    <div class="stack">
      <${ErrorNotice} error=${loaded.error} title="Not up to date" />
      ${notes?.(loaded.data)}
      <${Card} flush class=${className}>
        ${table(records, none)}
        <nav class="page-buttons" aria-label="Pages">
          <${Button} disabled=${!pages.previous} onClick=${() => pages.previous?.()}>Newer</${Button}>
          <span class="muted small" role="status">
            Page ${pages.number}, ${plural(records.length, one)}${
              next && records.length < PAGE && `, looked back to ${exactTime(timeOf(next))}`
            }
          </span>
          <${Button} disabled=${!pages.next} busy=${pages.turning} onClick=${() => pages.next?.()}>
            ${next && records.length < PAGE ? `Search older ${name}` : 'Older'}
          </${Button}>
        </nav>
      </${Card}>
    </div>
  `;
}

/** The time in an id: its first 48 bits are milliseconds since 1970. @param {string} id */
const timeOf = (id) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
