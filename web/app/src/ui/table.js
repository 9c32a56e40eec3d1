import { hiddenColumns, toggleColumn } from '../lib/columns.js';
import { nextOrder, partsOf, sortRows } from '../lib/order.js';
import { cx, html } from '../lib/preact.js';
import { Button } from './button.js';
import { ErrorNotice } from './error-notice.js';
import { Icon } from './icon.js';
import { Menu } from './menu.js';
import { Time } from './time.js';

/**
 * @template T
 * @typedef {object} Column
 * @property {string} key
 * @property {any} label
 * @property {(row: T) => any} [cell] defaults to the value of `key` in the row
 * @property {'right'} [align]
 * @property {boolean} [mono]
 * @property {boolean} [shrink] no wider than its content
 * @property {boolean} [hideLabel] for a column of buttons: the label is for screen readers only
 * @property {true | ((row: T) => string | number | null | undefined)} [sort] the value by which rows can be sorted;
 *   true for the value of `key` in the row
 * @property {'aside' | 'line' | 'line-aside' | 'more' | 'hidden'} [phone] position on a phone, in a row of two or three
 *   lines. `aside`: right of the first column. `line`: second line. `line-aside`: right end of the second line. `more`:
 *   third line. `hidden`: not shown. Buttons without a position are below these lines.
 * @property {boolean} [phoneLabel] shows the label before the value on a phone, for values that need it, like "never"
 */

/**
 * @template T
 * @typedef {object} Choice
 * @property {Set<string>} keys of the chosen rows
 * @property {(keys: Set<string>) => void} onChange
 * @property {(row: T) => string} label
 * @property {(row: T) => boolean} [may] whether a row can be chosen
 */

/** The order of the rows, see `lib/order.js`. @typedef {{order: string, onOrder: (order: string) => void}} Sorting */

/**
 * A table. On screens up to 640 px wide, every row becomes a card, or two or three lines if a column has a `phone`
 * position. With `rowHref` the first column is a link that covers the row: a click anywhere opens it, and the link
 * needs one Tab stop per row.
 * @template T
 * @param {object} props
 * @param {string} props.label name of the table for screen readers
 * @param {Column<T>[]} props.columns
 * @param {T[]} props.rows
 * @param {(row: T) => string} [props.rowKey]
 * @param {(row: T) => string | null} [props.rowHref]
 * @param {(row: T) => void} [props.onRow] instead of `rowHref`: the first cell is a button
 * @param {(row: T) => boolean} [props.selected]
 * @param {any} [props.empty] shown if there are no rows
 * @param {boolean} [props.plain] scrolls sideways on small screens instead of becoming cards
 * @param {string} [props.class]
 * @param {Choice<T>} [props.choice] a first column of checkboxes
 * @param {Sorting | null} [props.sorting] lets users sort; only for a list that is complete
 * @param {string} [props.choosable] lets users hide columns, except the first; the choice is stored under this name
 */
export function Table(props) {
  const { label, rowKey, rowHref, onRow, selected, empty, plain, class: className, choice, sorting, choosable } = props;
  if (props.rows.length === 0 && empty) return empty;
  const hidden = choosable ? hiddenColumns(choosable) : null;
  const columns = props.columns.filter((column) => !hidden?.has(column.key) || !canHide(column, props.columns));
  const rows = sorting ? sortRows(props.rows, columns, sorting.order) : props.rows;
  const key = rowKey ?? ((/** @type {any} */ row) => row.id ?? row.name);
  return html`
    <div class=${cx('table-wrap', className)} ...${plain ? { tabindex: 0, role: 'region', 'aria-label': label } : {}}>
      <table class=${cx('table', !plain && 'table-cards', columns.some(({ phone }) => phone) && 'table-lines')}
        aria-label=${label}>
        <thead>
          <tr>
            ${
              choice &&
              html`
                <th scope="col" class="cell-choice"><${ChooseAll} choice=${choice} rows=${rows} keyOf=${key} /></th>
              `
            }
            ${columns.map(
              (column) =>
                html`
                  <th key=${column.key} scope="col" class=${cellClass(column)}
                    aria-sort=${sorting && column.sort ? directionOf(column, sorting.order) : undefined}>
                    ${headOf(column, sorting)}
                    ${
                      choosable &&
                      column === columns.at(-1) &&
                      html`<${ColumnMenu} table=${choosable} columns=${props.columns} hidden=${hidden} />`
                    }
                  </th>
                `,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) => html`
              <tr key=${key(row)}
                class=${cx((rowHref?.(row) || onRow) && 'row-link', selected?.(row) && 'row-selected')}>
                ${
                  choice &&
                  html`<td class="cell-choice"><${ChooseOne} choice=${choice} row=${row} id=${key(row)} /></td>`
                }
                ${columns.map(
                  (column, index) => html`
                    <td key=${column.key} class=${cellClass(column)}
                      data-label=${column.hideLabel ? undefined : column.label}>
                      ${index === 0 ? firstCell(row, column, rowHref, onRow) : cellOf(row, column)}
                    </td>
                  `,
                )}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/**
 * A column with times, which can be sorted.
 * @param {string} key
 * @param {string} label
 * @param {Partial<Column<any>> & {none?: string}} [more] `none`: the text for no time
 * @returns {Column<any>}
 */
export const timeColumn = (key, label, { none, ...more } = {}) => ({
  key,
  label,
  sort: true,
  cell: (row) => html`<${Time} value=${row[key]} none=${none} />`,
  ...more,
});

/**
 * A column with buttons.
 * @template T
 * @param {(row: T) => any} cell
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export const actionsColumn = (cell, more = {}) => ({
  key: 'actions',
  label: 'Actions',
  hideLabel: true,
  shrink: true,
  cell,
  ...more,
});

/**
 * A column with one button, such as "Delete".
 * @template T
 * @param {string} word
 * @param {(row: T) => string} nameOf the record, for screen readers
 * @param {(row: T) => void} onClick
 * @param {Partial<Column<T>>} [more]
 */
export const buttonColumn = (word, nameOf, onClick, more) =>
  actionsColumn((/** @type {T} */ row) => {
    const label = `${word} ${nameOf(row)}`;
    return html`<${Button} size="small" aria-label=${label} onClick=${() => onClick(row)}>${word}</${Button}>`;
  }, more);

/** @param {Column<any>} column @param {Column<any>[]} columns */
const canHide = (column, columns) => column !== columns[0] && !column.hideLabel;

/** @param {{table: string, columns: Column<any>[], hidden: Set<string> | null}} props */
function ColumnMenu({ table, columns, hidden }) {
  const items = columns
    .filter((column) => canHide(column, columns))
    .map(({ key, label }) => ({
      label,
      checked: !hidden?.has(key),
      toggles: true,
      onClick: () => toggleColumn(table, key),
    }));
  return html`<${Menu} class="column-menu" label="Columns" items=${items} />`;
}

/** @param {Column<any>} column @param {string} order */
function directionOf(column, order) {
  const { key, down } = partsOf(order);
  return key !== column.key ? 'none' : down ? 'descending' : 'ascending';
}

/** @param {Column<any>} column @param {Sorting | null | undefined} sorting */
function headOf(column, sorting) {
  if (column.hideLabel) return html`<span class="visually-hidden">${column.label}</span>`;
  if (!sorting || !column.sort) return column.label;
  const direction = directionOf(column, sorting.order);
  return html`
    <button type="button" class=${cx('sort-head', `sort-${direction}`)}
      onClick=${() => sorting.onOrder(nextOrder(sorting.order, column.key))}>
      ${column.label}<${Icon} name=${direction === 'none' ? 'chevrons' : 'chevron-down'} size=${12} />
    </button>
  `;
}

/** @param {{choice: Choice<any>, rows: any[], keyOf: (row: any) => string}} props */
function ChooseAll({ choice, rows, keyOf }) {
  const keys = rows.filter((row) => choice.may?.(row) ?? true).map(keyOf);
  const all = keys.length > 0 && keys.every((key) => choice.keys.has(key));
  return html`
    <label class="choose-all">
      <input type="checkbox" aria-label="Choose all rows" checked=${all} disabled=${keys.length === 0}
        onChange=${() => choice.onChange(new Set(all ? [] : keys))} />
      <span class="choose-all-text">Choose all</span>
    </label>
  `;
}

/** @param {{choice: Choice<any>, row: any, id: string}} props */
function ChooseOne({ choice, row, id }) {
  if (!(choice.may?.(row) ?? true)) return null;
  const toggle = () => {
    const keys = new Set(choice.keys);
    if (!keys.delete(id)) keys.add(id);
    choice.onChange(keys);
  };
  return html`
    <input type="checkbox" aria-label=${choice.label(row)} checked=${choice.keys.has(id)} onChange=${toggle} />
  `;
}

/** @param {Column<any>} column */
const cellClass = (column) =>
  cx(
    column.align === 'right' && 'right',
    column.mono && 'mono',
    column.shrink && 'shrink',
    column.hideLabel && 'cell-actions',
    column.phone && `phone-${column.phone}`,
    column.phoneLabel && 'phone-label',
  ) || undefined;
/** @param {any} row @param {Column<any>} column */
const cellOf = (row, column) => (column.cell ? column.cell(row) : row[column.key]);

/**
 * @param {any} row
 * @param {Column<any>} column
 * @param {((row: any) => string | null) | undefined} rowHref
 * @param {((row: any) => void) | undefined} onRow
 */
function firstCell(row, column, rowHref, onRow) {
  const href = rowHref?.(row);
  if (href) return html`<a class="cover-link" href=${href}>${cellOf(row, column)}</a>`;
  if (onRow)
    return html`<button type="button" class="cover-link" onClick=${() => onRow(row)}>${cellOf(row, column)}</button>`;
  return cellOf(row, column);
}

/**
 * The button "Load more" below a list of `useList`.
 * @param {{list: {hasMore: boolean, loadMore: () => void, loadingMore: boolean, moreError: any}}} props
 */
export function Pagination({ list }) {
  if (!list.hasMore && !list.moreError) return null;
  return html`
    <div class="pagination">
      <${ErrorNotice} error=${list.moreError} />
      ${list.hasMore && html`<${Button} busy=${list.loadingMore} onClick=${list.loadMore}>Load more</${Button}>`}
    </div>
  `;
}
