/** All apps that may connect by OAuth, for administrators: add, block, delete. */
import { api, at } from '../lib/api.js';
import { formatNumber, plural } from '../lib/format.js';
import { displayName } from '../lib/oauth.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { hasWords } from '../lib/search.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery, useSorting } from '../router.js';
import { Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Select } from '../ui/field.js';
import { SearchInput } from '../ui/search-input.js';
import { Pagination, Table, timeColumn } from '../ui/table.js';
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
  const sorting = useSorting();
  const list = useList('/api/oauth/clients', 'apps', { query: { limit: 1000 }, every: 15_000 });
  const [created, setCreated] = useState(/** @type {App | null} */ (null));
  const [asking, setAsking] = useState(/** @type {{action: 'block' | 'delete', app: App} | null} */ (null));
  const apps = /** @type {App[]} */ (list.items ?? []);
  const rows = apps.filter(matches(query.all));
  const open = apps.find((app) => app.id === query.get('app'));
  const unblock = async (/** @type {App} */ app) => {
    await api.patch(at('/api/oauth/clients/{id}', { id: app.id }), { blocked: false });
    await list.reload();
    toast(`${displayName(app.name)} is allowed again`);
  };
  const add = () => query.set({ new: 1 });
  const onCreated = (/** @type {App} */ app) => {
    query.set({ new: null });
    setCreated(app);
    void list.reload();
  };
  return html`
    <${PageHeader} title="Apps" description="Apps that may connect to accounts of this server, and those you blocked."
      actions=${html`<${Button} kind="primary" icon="plus" onClick=${add}>Add app</${Button}>`} />
    ${apps.length > 0 && html`<${Filters} />`}
    <${Card} flush>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Apps" choosable="apps" columns=${COLUMNS} rows=${rows}
            sorting=${list.hasMore ? null : sorting}
            onRow=${(/** @type {App} */ app) => query.set({ app: app.id })}
            selected=${(/** @type {App} */ app) => app === open}
            empty=${html`<${Empty} filtered=${apps.length > 0} />`} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      open &&
      !asking &&
      html`
        <${AppDrawer} app=${open} onClose=${() => query.set({ app: null })}
          onBlock=${() => setAsking({ action: 'block', app: open })} onUnblock=${() => unblock(open)}
          onDelete=${() => setAsking({ action: 'delete', app: open })} />
      `
    }
    ${asking && html`<${Confirmation} ...${asking} list=${list} onClose=${() => setAsking(null)} />`}
    ${query.get('new') && html`<${NewAppDialog} onClose=${() => query.set({ new: null })} onCreated=${onCreated} />`}
    ${created && html`<${CreatedDialog} app=${created} onClose=${() => setCreated(null)} />`}
  `;
}

function Filters() {
  const query = useQuery();
  return html`
    <div class="toolbar">
      <${SearchInput} label="Search apps" value=${query.get('q')}
        onSearch=${(/** @type {string} */ text) => query.set({ q: text })} />
      <${Select} label="Origin" hideLabel value=${query.get('kind')} options=${KINDS}
        onInput=${(/** @type {string} */ value) => query.set({ kind: value })} />
      <${Select} label="Status" hideLabel value=${query.get('status')}
        onInput=${(/** @type {string} */ value) => query.set({ status: value })}
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

/**
 * @param {{action: 'block' | 'delete', app: App, list: {reload: () => Promise<void>}, onClose: () => void}} props
 */
function Confirmation({ action, app, list, onClose }) {
  const query = useQuery();
  const path = at('/api/oauth/clients/{id}', { id: app.id });
  const ends = app.grants > 0 ? `This disconnects ${plural(app.grants, 'user')}.` : 'No user is connected.';
  const block = async () => {
    await api.patch(path, { blocked: true });
    await list.reload();
    toast(`${displayName(app.name)} blocked`);
  };
  const remove = async () => {
    await api.del(path);
    query.set({ app: null });
    await list.reload();
    toast(`${displayName(app.name)} deleted`);
  };
  if (action === 'block')
    return html`
      <${ConfirmDialog} title="Block this app?" action="Block app" onConfirm=${block} onClose=${onClose}>
        <p><strong><${QuotedName} app=${app} /></strong> is rejected at once. ${ends}</p>
        <p>After “Unblock”, users have to connect it again.</p>
      </${ConfirmDialog}>
    `;
  return html`
    <${ConfirmDialog} title="Delete this app?" action="Delete app" onConfirm=${remove} onClose=${onClose}>
      <p><strong><${QuotedName} app=${app} /></strong> is rejected at once. ${ends}</p>
      <p>${comesBack(app)}</p>
    </${ConfirmDialog}>
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

/** @param {{filtered: boolean}} props */
function Empty({ filtered }) {
  if (filtered)
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
