/** Templates of spaces: ports, health check, startup script and custom fields. */
import { api, at, withQuery } from '../lib/api.js';
import { can } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { useList, useResource } from '../lib/resource.js';
import { hasWords } from '../lib/search.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery, useSorting } from '../router.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { SearchInput } from '../ui/search-input.js';
import { Pagination, Table, timeColumn } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { checkText } from './spaces/fields.js';
import { EditTemplate } from './templates/edit.js';

/** @import { Template } from 'api' */

await loadStyles('spaces.css');

const DESCRIPTION =
  'A new space copies the ports, health check and startup script of its template. ' +
  'Custom fields stay in the template and apply to all its spaces.';

export default function TemplatesPage() {
  const query = useQuery();
  const sorting = useSorting();
  const list = useList('/api/templates', 'templates', { query: { limit: 1_000 }, every: 10_000 });
  const scripts = useResource(withQuery('/api/scripts', { kind: 'startup', limit: 1000 })).data?.scripts ?? [];
  const [deleting, setDeleting] = useState(/** @type {Template | null} */ (null));
  const all = /** @type {Template[]} */ (list.items ?? []);
  const rows = all.filter((one) => hasWords(searchText(one), query.get('q')));
  const mayEdit = can('manage_templates');
  const edited = all.find((one) => one.id === query.get('template'));
  const close = () => query.set({ new: null, template: null });
  const add = html`
    <${Button} kind="primary" icon="plus" onClick=${() => query.set({ new: 1 })}>New template</${Button}>
  `;
  return html`
    <${PageHeader} title="Templates" actions=${mayEdit && add}
      description=${DESCRIPTION} />
    ${
      (all.length > 0 || query.get('q')) &&
      html`
        <div class="toolbar">
          <${SearchInput} label="Search templates" value=${query.get('q')}
            onSearch=${(/** @type {string} */ q) => query.set({ q })} />
        </div>
      `
    }
    <${Card} flush>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Templates" choosable="templates" rows=${rows}
            columns=${columnsOf(scripts, mayEdit ? setDeleting : null)} sorting=${list.hasMore ? null : sorting}
            onRow=${mayEdit ? (/** @type {Template} */ one) => query.set({ template: one.id }) : undefined}
            empty=${html`<${Empty} filtered=${all.length > 0} mayEdit=${mayEdit} />`} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      mayEdit &&
      (query.get('new') || edited) &&
      html`<${EditTemplate} key=${edited?.id} template=${edited ?? null} onDone=${list.reload} onClose=${close} />`
    }
    ${
      deleting &&
      html`
        <${ConfirmDialog} title=${`Delete ${deleting.name}?`} action="Delete template"
          onConfirm=${() => remove(deleting, list)} onClose=${() => setDeleting(null)}>
          <p>No new space can use it. A template with spaces cannot be deleted: delete its spaces first.</p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {Template} template */
const searchText = ({ name, ports, custom_fields: fields }) =>
  [name, ...ports.flatMap((port) => [port.name, port.port]), ...Object.entries(fields).flat()].join(' ');

/** @param {Template} template @param {{reload: () => Promise<void>}} list */
async function remove(template, list) {
  await api.del(at('/api/templates/{id}', { id: template.id }));
  await list.reload();
  toast(`Template ${template.name} deleted`);
}

/** @param {Template} template */
const fieldsText = ({ custom_fields: fields }) =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');

/**
 * @param {{id: string, name: string}[]} scripts
 * @param {((template: Template) => void) | null} onDelete null without the permission
 * @returns {import('../ui/table.js').Column<Template>[]}
 */
function columnsOf(scripts, onDelete) {
  const none = html`<span class="muted">none</span>`;
  const scriptOf = (/** @type {string} */ id) => scripts.find((one) => one.id === id)?.name ?? id;
  return [
    { key: 'name', label: 'Name', sort: (one) => one.name },
    {
      key: 'ports',
      label: 'Ports',
      phone: 'line',
      phoneLabel: true,
      sort: (one) => one.ports.length,
      cell: (one) =>
        one.ports.length === 0
          ? none
          : html`
            <span class="row">
              ${one.ports.map((port) => html`<${Badge} key=${port.name} mono>${port.name} ${port.port}</${Badge}>`)}
            </span>
          `,
    },
    {
      key: 'startup',
      label: 'Startup script',
      phone: 'hidden',
      sort: ({ startup_script_id: id }) => id && scriptOf(id),
      cell: ({ startup_script_id: id }) =>
        id ? html`<a class="mono anywhere" href=${`/scripts/${id}`}>${scriptOf(id)}</a>` : none,
    },
    {
      key: 'check',
      label: 'Health check',
      phone: 'more',
      phoneLabel: true,
      sort: (one) => one.health_check && checkText(one.health_check),
      cell: (one) =>
        one.health_check ? html`<span class="mono anywhere">${checkText(one.health_check)}</span>` : none,
    },
    {
      key: 'fields',
      label: 'Custom fields',
      phone: 'hidden',
      sort: fieldsText,
      cell: (one) => (fieldsText(one) ? html`<span class="mono small anywhere">${fieldsText(one)}</span>` : none),
    },
    timeColumn('created_at', 'Created', { shrink: true, phone: 'aside' }),
    ...(onDelete
      ? [
          {
            key: 'actions',
            label: 'Actions',
            hideLabel: true,
            shrink: true,
            phone: /** @type {const} */ ('line-aside'),
            cell: (/** @type {Template} */ one) => html`
              <${Button} size="small" aria-label=${`Delete ${one.name}`} onClick=${() => onDelete(one)}>
                Delete
              </${Button}>
            `,
          },
        ]
      : []),
  ];
}

/** @param {{filtered: boolean, mayEdit: boolean}} props */
function Empty({ filtered, mayEdit }) {
  const query = useQuery();
  if (filtered)
    return html`
      <${EmptyState} icon="search" title="No template matches"
        action=${html`<${Button} onClick=${() => query.set({ q: null })}>Clear the search</${Button}>`} />
    `;
  return html`
    <${EmptyState} icon="copy" title="No templates yet"
      command=${mayEdit ? 'svc template create web --port http=8080' : undefined}>
      <p>A template gives new spaces the same ports, health check and startup script.</p>
    </${EmptyState}>
  `;
}
