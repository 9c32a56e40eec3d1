/** A page with the records of one kind: their list, one of them in a drawer, and dialogs to create and delete. */
import { api } from '../lib/api.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { useQuery, useSorting } from '../router.js';
import { Button } from './button.js';
import { Card, PageHeader } from './card.js';
import { ConfirmDialog } from './dialog.js';
import { EmptyState } from './empty-state.js';
import { ErrorNotice, pendingOf } from './error-notice.js';
import { QuerySearch } from './filters.js';
import { Pagination, Table } from './table.js';
import { toast } from './toasts.js';

/**
 * What the drawer and each dialog about a record get.
 * @template T
 * @typedef {object} About
 * @property {T} record
 * @property {() => void} onClose
 * @property {() => Promise<any>} onChanged loads the list again
 * @property {(dialog: string) => void} onAsk opens a dialog of the page about the record
 */

/**
 * @typedef {'/api/oauth/clients' | '/api/oidc/providers' | '/api/schedules' | '/api/sources' | '/api/templates'
 *   } RecordPath
 */

/**
 * The address has the open record under its kind (`?source=<id>`), and `new=1` while the form of a new record is open.
 * @param {object} props
 * @param {RecordPath} props.path of the list
 * @param {string} props.name the key of the list in the response
 * @param {number} [props.limit]
 * @param {number} [props.every] milliseconds between two requests
 * @param {string} props.kind of the records: the member of the address that names the open one
 * @param {string} props.title
 * @param {any} props.description
 * @param {string | false} props.add the label of the button that opens the form; false without the permission
 * @param {any} props.form a component with `onClose` and `onCreated(record)`
 * @param {any} [props.created] a component that shows a new record, such as its secret
 * @param {any} [props.drawer] a component for the open record, see `About`; the form itself, if it also edits
 * @param {Record<string, any>} [props.dialogs] components by name, see `About`
 * @param {(all: any[]) => any} [props.toolbar]
 * @param {(record: any) => boolean} [props.matches] for filters of the page
 * @param {(ask: (dialog: string, record: any) => void) => import('./table.js').Column<any>[]} props.columns
 * @param {boolean} [props.choosable] lets users hide columns
 * @param {(page: {all: any[], add: any}) => any} props.empty shown instead of an empty table
 */
export function RecordPage({ path, name, limit = 1_000, every = 10_000, kind, title, description, ...parts }) {
  const { add, form, created, drawer, dialogs = {}, toolbar, matches = () => true, columns, empty } = parts;
  const query = useQuery();
  const list = useList(path, /** @type {never} */ (name), { query: { limit }, every });
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [asked, setAsked] = useState(/** @type {{dialog: string, record: any} | null} */ (null));
  const all = /** @type {any[]} */ (list.items ?? []);
  const open = drawer && all.find((record) => record.id === query.get(kind));
  const ask = (/** @type {string} */ dialog, /** @type {any} */ record) => setAsked({ dialog, record });
  const closeForm = () => query.set({ new: null });
  const onCreated = async (/** @type {any} */ record) => {
    closeForm();
    if (created) setMade(record);
    await list.reload();
  };
  const button = () =>
    add && html`<${Button} kind="primary" icon="plus" onClick=${() => query.set({ new: 1 })}>${add}</${Button}>`;
  return html`
    <${PageHeader} title=${title} description=${description} actions=${button()} />
    ${toolbar?.(all)}
    <${RecordList} list=${list} label=${title} choosable=${parts.choosable === false ? undefined : name}
      columns=${columns(ask)} rows=${all.filter(matches)} empty=${empty({ all, add: button() })}
      onRow=${drawer ? (/** @type {any} */ record) => query.set({ [kind]: record.id }) : undefined}
      selected=${drawer === form ? undefined : (/** @type {any} */ record) => record === open} />
    ${
      open &&
      !asked &&
      html`
        <${drawer} key=${open.id} record=${open} onClose=${() => query.set({ [kind]: null })} onChanged=${list.reload}
          onAsk=${(/** @type {string} */ dialog) => ask(dialog, open)} />
      `
    }
    ${add && query.get('new') && html`<${form} onClose=${closeForm} onCreated=${onCreated} onChanged=${list.reload} />`}
    ${made && html`<${created} record=${made} onClose=${() => setMade(null)} />`}
    ${
      asked &&
      html`
        <${dialogs[asked.dialog]} record=${asked.record} onClose=${() => setAsked(null)} onChanged=${list.reload}
          onGone=${() => query.set({ [kind]: null })} />
      `
    }
  `;
}

/**
 * The records of a list in a card. Other props are those of `Table`.
 * @param {{list: any, label: string, title?: any, description?: any, actions?: any, id?: string, rows?: any[], columns:
 *   import('./table.js').Column<any>[], [prop: string]: any}} props
 */
export function RecordList({ list, title, description, actions, id, class: className, rows = list.items, ...table }) {
  const sorting = useSorting();
  return html`
    <${Card} flush class=${className} ...${{ title, description, actions, id }}>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} rows=${rows} sorting=${list.hasMore ? null : sorting} ...${table} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
  `;
}

/**
 * Asks before a record is deleted. `said`: the toast afterwards.
 * @param {object} props
 * @param {Parameters<typeof api.del>[0]} props.path of the record
 * @param {any} props.title
 * @param {string} props.action the label of the button
 * @param {string} props.said
 * @param {{onClose: () => void, onChanged: () => Promise<any>, onGone?: () => void}} props.about
 * @param {any} props.children
 */
export function DeleteDialog({ path, title, action, said, about, children }) {
  const remove = async () => {
    await api.del(path);
    about.onGone?.();
    await about.onChanged();
    toast(said);
  };
  return html`
    <${ConfirmDialog} title=${title} action=${action} onConfirm=${remove} onClose=${about.onClose}>
      ${children}
    </${ConfirmDialog}>
  `;
}

/** The search of a page, hidden while there are no records. @param {string} many what the records are called */
export const searchOf = (many) => (/** @type {any[]} */ all) => html`<${Search} many=${many} any=${all.length > 0} />`;

/** @param {{many: string, any: boolean}} props */
function Search({ many, any }) {
  const query = useQuery();
  if (!any && !query.get('q')) return null;
  return html`
    <div class="toolbar">
      <${QuerySearch} label=${`Search ${many}`} />
    </div>
  `;
}

/** Shown if no record matches a search. @param {{one: string}} props what a record is called */
export function NoMatch({ one }) {
  const query = useQuery();
  return html`
    <${EmptyState} icon="search" title=${`No ${one} matches`}
      action=${html`<${Button} onClick=${() => query.set({ q: null })}>Clear the search</${Button}>`} />
  `;
}
