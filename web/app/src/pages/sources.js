/** Sources of the user: URLs to which other services send requests that become events. */
import { api, at } from '../lib/api.js';
import { formatNumber } from '../lib/format.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { useQuery, useSorting } from '../router.js';
import { Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Pagination, Table, timeColumn } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { SourceDrawer } from './sources/drawer.js';
import { CreatedDialog, NewSourceDialog } from './sources/new-source.js';

/** @import { Source } from 'api' */

export default function SourcesPage() {
  const query = useQuery();
  const sorting = useSorting();
  const list = useList('/api/sources', 'sources', { query: { limit: 1000 }, every: 5_000 });
  const [created, setCreated] = useState(/** @type {Source | null} */ (null));
  const [deleting, setDeleting] = useState(/** @type {Source | null} */ (null));
  const sources = /** @type {Source[]} */ (list.items ?? []);
  const open = sources.find((source) => source.id === query.get('source'));
  const add = () => query.set({ new: 1 });
  const onCreated = (/** @type {Source} */ source) => {
    query.set({ new: null });
    setCreated(source);
    void list.reload();
  };
  return html`
    <${PageHeader} title="Sources"
      description="Requests of other services that become events. Each source has a URL and verifies its requests."
      actions=${html`<${Button} kind="primary" icon="plus" onClick=${add}>New source</${Button}>`} />
    <${Card} flush>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Sources" choosable="sources" columns=${COLUMNS} rows=${sources}
            sorting=${list.hasMore ? null : sorting} empty=${html`<${Empty} onNew=${add} />`}
            onRow=${(/** @type {Source} */ source) => query.set({ source: source.id })}
            selected=${(/** @type {Source} */ source) => source === open} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      open &&
      !deleting &&
      html`
        <${SourceDrawer} key=${open.id} source=${open} onClose=${() => query.set({ source: null })}
          onChanged=${list.reload} onDelete=${() => setDeleting(open)} />
      `
    }
    ${query.get('new') && html`<${NewSourceDialog} onClose=${() => query.set({ new: null })} onCreated=${onCreated} />`}
    ${created && html`<${CreatedDialog} source=${created} onClose=${() => setCreated(null)} />`}
    ${
      deleting &&
      html`
        <${ConfirmDialog} title="Delete this source?" action="Delete source" onClose=${() => setDeleting(null)}
          onConfirm=${async () => {
            await api.del(at('/api/sources/{id}', { id: deleting.id }));
            query.set({ source: null });
            await list.reload();
            toast(`Source ${deleting.name} deleted`);
          }}>
          <p>
            The URL of <strong class="mono anywhere">${deleting.name}</strong> stops working at once. Its events stay.
          </p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @type {import('../ui/table.js').Column<Source>[]} */
const COLUMNS = [
  {
    key: 'name',
    label: 'Name',
    sort: true,
    cell: (source) => html`<span class="strong anywhere">${source.name}</span>`,
  },
  {
    key: 'verify',
    label: 'Verified as',
    shrink: true,
    sort: (source) => source.verify.type,
    cell: (source) => source.verify.type,
  },
  {
    key: 'accepted',
    label: 'Accepted',
    align: 'right',
    shrink: true,
    sort: true,
    cell: (source) => formatNumber(source.accepted),
  },
  {
    key: 'rejected',
    label: 'Rejected',
    align: 'right',
    shrink: true,
    sort: true,
    cell: (source) => formatNumber(source.rejected),
  },
  timeColumn('last_accepted_at', 'Last accepted', { shrink: true, none: 'never' }),
  {
    key: 'active',
    label: 'Status',
    shrink: true,
    sort: (source) => (source.active ? 'active' : 'off'),
    cell: (source) =>
      html`<${Status} tone=${source.active ? 'good' : 'neutral'}>${source.active ? 'active' : 'off'}</${Status}>`,
  },
];

/** @param {{onNew: () => void}} props */
function Empty({ onNew }) {
  return html`
    <${EmptyState} icon="download" title="No sources yet" command="svc source create github --verify github"
      action=${html`<${Button} kind="primary" icon="plus" onClick=${onNew}>New source</${Button}>`}>
      A source turns webhooks of GitHub, Stripe and others into events. Create one here, or with the command line:
    </${EmptyState}>
  `;
}
