/** The servers of the zone: version, agents, and when each was last seen. */
import { formatNumber } from '../lib/format.js';
import { html } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { useSorting } from '../router.js';
import { Badge, Status } from '../ui/badge.js';
import { Card, PageHeader } from '../ui/card.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Table, timeColumn } from '../ui/table.js';

/** @import { ServerRecord } from 'api' */

const EVERY_MS = 5_000;

/** @type {Record<ServerRecord['state'], import('../ui/badge.js').Tone>} */
const TONES = { up: 'good', draining: 'warn', gone: 'bad' };

/** @type {import('../ui/table.js').Column<ServerRecord>[]} */
const COLUMNS = [
  {
    key: 'url',
    label: 'Server',
    sort: (one) => one.url || one.id,
    cell: (one) => html`
      <span class="mono anywhere">${one.url || one.id}</span>
      ${one.is_this && html` <${Badge} tone="accent">this one</${Badge}>`}
    `,
  },
  {
    key: 'state',
    label: 'State',
    shrink: true,
    sort: true,
    cell: (one) => html`<${Status} tone=${TONES[one.state]}>${one.state}</${Status}>`,
  },
  { key: 'svc_version', label: 'Version', shrink: true, mono: true, sort: true },
  { key: 'links', label: 'Agents', align: 'right', sort: true, cell: (one) => formatNumber(one.links) },
  { key: 'leases', label: 'Lanes', align: 'right', sort: true, cell: (one) => formatNumber(one.leases) },
  timeColumn('started_at', 'Started', { shrink: true }),
  timeColumn('seen_at', 'Last seen', { shrink: true }),
];

export default function ServersPage() {
  const sorting = useSorting();
  const list = useResource('/api/servers', { every: EVERY_MS });
  return html`
    <${PageHeader} title="Servers" description="Servers that share one database form a zone." />
    <${Card} flush>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="This list is outdated" onRetry=${list.reload} />
          <${Table} label="Servers" choosable="servers" columns=${COLUMNS} rows=${list.data?.servers}
            sorting=${sorting} />
        `
      }
    </${Card}>
  `;
}
