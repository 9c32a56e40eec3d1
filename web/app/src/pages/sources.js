/** Sources of the user: URLs to which other services send requests that become events. */
import { at } from '../lib/api.js';
import { formatNumber } from '../lib/format.js';
import { html } from '../lib/preact.js';
import { Status } from '../ui/badge.js';
import { EmptyState } from '../ui/empty-state.js';
import { DeleteDialog, RecordPage } from '../ui/record-page.js';
import { timeColumn } from '../ui/table.js';
import { SourceDrawer } from './sources/drawer.js';
import { CreatedDialog, NewSourceDialog } from './sources/new-source.js';

/** @import { Source } from 'api' */

export default function SourcesPage() {
  return html`
    <${RecordPage} path="/api/sources" name="sources" kind="source" every=${5_000} title="Sources"
      description="Requests of other services that become events. Each source has a URL and verifies its requests."
      add="New source" form=${NewSourceDialog} created=${CreatedDialog} drawer=${SourceDrawer}
      dialogs=${{ delete: DeleteSource }} columns=${() => COLUMNS} empty=${Empty} />
  `;
}

/** @param {import('../ui/record-page.js').About<Source>} about */
function DeleteSource(about) {
  const { id, name } = about.record;
  return html`
    <${DeleteDialog} about=${about} path=${at('/api/sources/{id}', { id })} title="Delete this source?"
      action="Delete source" said=${`Source ${name} deleted`}>
      <p>The URL of <strong class="mono anywhere">${name}</strong> stops working at once. Its events stay.</p>
    </${DeleteDialog}>
  `;
}

/** @type {import('../ui/table.js').Column<Source>[]} */
const COLUMNS = [
  { key: 'name', label: 'Name', sort: true, cell: (one) => html`<span class="strong anywhere">${one.name}</span>` },
  { key: 'verify', label: 'Verified as', shrink: true, sort: (one) => one.verify.type, cell: (one) => one.verify.type },
  {
    key: 'accepted',
    label: 'Accepted',
    align: 'right',
    shrink: true,
    sort: true,
    cell: (one) => formatNumber(one.accepted),
  },
  {
    key: 'rejected',
    label: 'Rejected',
    align: 'right',
    shrink: true,
    sort: true,
    cell: (one) => formatNumber(one.rejected),
  },
  timeColumn('last_accepted_at', 'Last accepted', { shrink: true, none: 'never' }),
  {
    key: 'active',
    label: 'Status',
    shrink: true,
    sort: (one) => (one.active ? 'active' : 'off'),
    cell: (one) =>
      html`<${Status} tone=${one.active ? 'good' : 'neutral'}>${one.active ? 'active' : 'off'}</${Status}>`,
  },
];

/** @param {{add: any}} page */
const Empty = ({ add }) => html`
  <${EmptyState} icon="download" title="No sources yet" command="svc source create github --verify github"
    action=${add}>
    A source turns webhooks of GitHub, Stripe and others into events. Create one here, or with the command line:
  </${EmptyState}>
`;
