/** The servers of the zone: version, agents, and when each was last seen. */
import { formatNumber } from '../lib/format.js';
import { html } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { useSorting } from '../router.js';
import { Badge, Status } from '../ui/badge.js';
import { Card, PageHeader } from '../ui/card.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';

/** @import { ServerRecord } from 'api' */

const EVERY_MS = 5_000;

/** @type {Record<ServerRecord['state'], import('../ui/badge.js').Tone>} */
const TONES = { up: 'good', draining: 'warn', gone: 'bad' };

const COLUMNS = [
  {
    key: 'url',
    label: 'Server',
    sort: (/** @type {ServerRecord} */ one) => one.url || one.id,
    cell: (/** @type {ServerRecord} */ one) => html`
      <span class="mono anywhere">${one.url || one.id}</span>
      ${one.is_this && html` <${Badge} tone="accent">this one</${Badge}>`}
    `,
  },
  {
    key: 'state',
    label: 'State',
    shrink: true,
    sort: (/** @type {ServerRecord} */ one) => one.state,
    cell: (/** @type {ServerRecord} */ one) => html`<${Status} tone=${TONES[one.state]}>${one.state}</${Status}>`,
  },
  {
    key: 'svc_version',
    label: 'Version',
    shrink: true,
    mono: true,
    sort: (/** @type {ServerRecord} */ one) => one.svc_version,
  },
  {
    key: 'links',
    label: 'Agents',
    align: /** @type {const} */ ('right'),
    sort: (/** @type {ServerRecord} */ one) => one.links,
    cell: (/** @type {ServerRecord} */ one) => formatNumber(one.links),
  },
  {
    key: 'leases',
    label: 'Lanes',
    align: /** @type {const} */ ('right'),
    sort: (/** @type {ServerRecord} */ one) => one.leases,
    cell: (/** @type {ServerRecord} */ one) => formatNumber(one.leases),
  },
  {
    key: 'started_at',
    label: 'Started',
    shrink: true,
    sort: (/** @type {ServerRecord} */ one) => one.started_at,
    cell: (/** @type {ServerRecord} */ one) => html`<${Time} value=${one.started_at} />`,
  },
  {
    key: 'seen_at',
    label: 'Last seen',
    shrink: true,
    sort: (/** @type {ServerRecord} */ one) => one.seen_at,
    cell: (/** @type {ServerRecord} */ one) => html`<${Time} value=${one.seen_at} />`,
  },
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
