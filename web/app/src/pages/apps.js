/** All apps that may connect by OAuth, for administrators: add, block, delete. */
import { api, at } from '../lib/api.js';
import { formatNumber, plural } from '../lib/format.js';
import { displayName } from '../lib/oauth.js';
import { html } from '../lib/preact.js';
import { hasWords } from '../lib/search.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { QuerySearch, QuerySelect } from '../ui/filters.js';
import { DeleteDialog, RecordPage } from '../ui/record-page.js';
import { timeColumn } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { AppDrawer } from './apps/details.js';
import { AppCell, QuotedName } from './apps/identity.js';
import { CreatedDialog, NewAppDialog } from './apps/new-app.js';

/** @import { App } from 'api' */

await loadStyles('apps.css');

const KINDS = [
  { value: '', label: 'Every origin' },
  { value: 'metadata', label: 'Published by a host' },
  { value: 'registered', label: 'Not verified' },
  { value: 'manual', label: 'Added by an administrator' },
  { value: 'builtin', label: 'Part of svc' },
];

export default function AppsPage() {
  const query = useQuery();
  return html`
    <${RecordPage} path="/api/oauth/clients" name="apps" kind="app" every=${15_000} title="Apps"
      description="Apps that may connect to accounts of this server, and those you blocked."
      add="Add app" form=${NewAppDialog} created=${CreatedDialog} drawer=${AppDrawer}
      dialogs=${{ block: BlockApp, delete: DeleteApp }} matches=${matches(query.all)}
      toolbar=${(/** @type {App[]} */ apps) => apps.length > 0 && html`<${Filters} />`}
      columns=${() => COLUMNS} empty=${Empty} />
  `;
}

function Filters() {
  return html`
    <div class="toolbar">
      <${QuerySearch} label="Search apps" />
      <${QuerySelect} label="Origin" name="kind" options=${KINDS} />
      <${QuerySelect} label="Status" name="status"
        options=${[
          { value: '', label: 'Every status' },
          { value: 'allowed', label: 'Allowed' },
          { value: 'blocked', label: 'Blocked' },
        ]} />
    </div>
  `;
}

/** @type {import('../ui/table.js').Column<App>[]} */
const COLUMNS = [
  { key: 'name', label: 'App', sort: (app) => displayName(app.name), cell: (app) => html`<${AppCell} app=${app} />` },
  { key: 'grants', label: 'Users', align: 'right', shrink: true, sort: true, cell: (app) => formatNumber(app.grants) },
  timeColumn('last_used_at', 'Last used', { shrink: true, none: 'never' }),
  timeColumn('created_at', 'Known since', { shrink: true }),
  {
    key: 'blocked',
    label: 'Status',
    shrink: true,
    sort: (app) => (app.blocked ? 'blocked' : 'allowed'),
    cell: (app) =>
      html`<${Status} tone=${app.blocked ? 'bad' : 'good'}>${app.blocked ? 'blocked' : 'allowed'}</${Status}>`,
  },
];

/** @param {App} app */
const ends = ({ grants }) => (grants > 0 ? `This disconnects ${plural(grants, 'user')}.` : 'No user is connected.');

/** @param {import('../ui/record-page.js').About<App>} about */
function BlockApp({ record: app, onClose, onChanged }) {
  const block = async () => {
    await api.patch(at('/api/oauth/clients/{id}', { id: app.id }), { blocked: true });
    await onChanged();
    toast(`${displayName(app.name)} blocked`);
  };
  return html`
    <${ConfirmDialog} title="Block this app?" action="Block app" onConfirm=${block} onClose=${onClose}>
      <p><strong><${QuotedName} app=${app} /></strong> is rejected at once. ${ends(app)}</p>
      <p>After “Unblock”, users have to connect it again.</p>
    </${ConfirmDialog}>
  `;
}

/** @param {import('../ui/record-page.js').About<App>} about */
function DeleteApp(about) {
  const app = about.record;
  return html`
    <${DeleteDialog} about=${about} path=${at('/api/oauth/clients/{id}', { id: app.id })} title="Delete this app?"
      action="Delete app" said=${`${displayName(app.name)} deleted`}>
      <p><strong><${QuotedName} app=${app} /></strong> is rejected at once. ${ends(app)}</p>
      <p>${comesBack(app)}</p>
    </${DeleteDialog}>
  `;
}

/** Whether a deleted app can be connected again. @param {App} app */
function comesBack({ kind, blocked }) {
  if (kind !== 'metadata') return 'To connect again, it needs a new client id.';
  return blocked
    ? 'This also removes the block: users can connect it again.'
    : 'Users can connect it again. To keep it out, block it instead.';
}

/** @param {Record<string, string>} asked */
function matches({ q = '', kind, status }) {
  return (/** @type {App} */ app) =>
    hasWords(`${app.name} ${app.client_id} ${app.host ?? ''}`, q) &&
    (!kind || app.kind === kind) &&
    (!status || app.blocked === (status === 'blocked'));
}

/** @param {{all: App[]}} page */
function Empty({ all }) {
  if (all.length > 0)
    return html`
      <${EmptyState} icon="search" title="No app matches"
        action=${html`<${Button} href="/apps">Show all apps</${Button}>`} />
    `;
  return html`
    <${EmptyState} icon="grid" title="No apps yet">
      An app appears here when a user connects it the first time. Add an app yourself if it cannot register.
    </${EmptyState}>
  `;
}
