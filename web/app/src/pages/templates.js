/** Templates of spaces: ports, health check, startup script and custom fields. */
import { at, withQuery } from '../lib/api.js';
import { can } from '../lib/me.js';
import { html } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { hasWords } from '../lib/search.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Badge } from '../ui/badge.js';
import { EmptyState } from '../ui/empty-state.js';
import { DeleteDialog, NoMatch, RecordPage, searchOf } from '../ui/record-page.js';
import { buttonColumn, timeColumn } from '../ui/table.js';
import { checkText } from './spaces/fields.js';
import { EditTemplate } from './templates/edit.js';

/** @import { Template } from 'api' */

/** @typedef {(dialog: string, template: Template) => void} Ask */

await loadStyles('spaces.css');

const DESCRIPTION =
  'A new space copies the ports, health check and startup script of its template. ' +
  'Custom fields stay in the template and apply to all its spaces.';

export default function TemplatesPage() {
  const q = useQuery().get('q');
  const scripts = useResource(withQuery('/api/scripts', { kind: 'startup', limit: 1000 })).data?.scripts ?? [];
  const mayEdit = can('manage_templates');
  return html`
    <${RecordPage} path="/api/templates" name="templates" kind="template" title="Templates" description=${DESCRIPTION}
      add=${mayEdit && 'New template'} form=${EditTemplate} drawer=${mayEdit && EditTemplate}
      dialogs=${{ delete: DeleteTemplate }}
      matches=${(/** @type {Template} */ one) => hasWords(searchText(one), q)}
      toolbar=${searchOf('templates')} empty=${(/** @type {{all: Template[]}} */ { all }) => emptyOf(all, mayEdit)}
      columns=${(/** @type {Ask} */ ask) => columnsOf(scripts, mayEdit ? ask : null)} />
  `;
}

/** @param {import('../ui/record-page.js').About<Template>} about */
function DeleteTemplate(about) {
  const { id, name } = about.record;
  return html`
    <${DeleteDialog} about=${about} path=${at('/api/templates/{id}', { id })} title=${`Delete ${name}?`}
      action="Delete template" said=${`Template ${name} deleted`}>
      <p>No new space can use it. A template with spaces cannot be deleted: delete its spaces first.</p>
    </${DeleteDialog}>
  `;
}

/** @param {Template} template */
const searchText = ({ name, ports, custom_fields: fields }) =>
  [name, ...ports.flatMap((port) => [port.name, port.port]), ...Object.entries(fields).flat()].join(' ');

/** @param {Template} template */
const fieldsText = ({ custom_fields: fields }) =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');

const nameOf = (/** @type {Template} */ { name }) => name;

/**
 * @param {{id: string, name: string}[]} scripts
 * @param {Ask | null} ask null without the permission to delete
 * @returns {import('../ui/table.js').Column<Template>[]}
 */
function columnsOf(scripts, ask) {
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
    ...(ask ? [buttonColumn('Delete', nameOf, (one) => ask('delete', one), { phone: 'line-aside' })] : []),
  ];
}

/** @param {Template[]} all @param {boolean} mayEdit */
function emptyOf(all, mayEdit) {
  if (all.length > 0) return html`<${NoMatch} one="template" />`;
  return html`
    <${EmptyState} icon="copy" title="No templates yet"
      command=${mayEdit ? 'svc template create web --port http=8080' : undefined}>
      <p>A template gives new spaces the same ports, health check and startup script.</p>
    </${EmptyState}>
  `;
}
