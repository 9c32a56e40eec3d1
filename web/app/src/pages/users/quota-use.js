/** The quotas of a user and how much of each is used. */
import { withQuery } from '../../lib/api.js';
import { formatBytes, formatNumber } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { QUOTAS } from '../../lib/quotas.js';
import { useResource } from '../../lib/resource.js';
import { Badge } from '../../ui/badge.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Meter } from '../../ui/meter.js';
import { Table } from '../../ui/table.js';

/** @import { QuotaUse } from 'api' */

const EVERY_MS = 15_000;
const LABELS = Object.fromEntries(QUOTAS);

/** Bytes are shown with a unit. @param {string} quota @param {number} value */
const quotaText = (quota, value) => (quota.endsWith('_bytes') ? formatBytes(value) : formatNumber(value));

/** @type {import('../../ui/table.js').Column<QuotaUse>[]} */
const COLUMNS = [
  {
    key: 'quota',
    label: 'Quota',
    cell: ({ quota, is_own_value: own }) =>
      html`
        ${LABELS[quota] ?? quota}
        ${own && html` <${Badge} title="An administrator set it for this user">own value</${Badge}>`}
      `,
  },
  { key: 'used', label: 'Used', align: 'right', phone: 'line', cell: ({ quota, used }) => quotaText(quota, used) },
  {
    key: 'limit',
    label: 'Limit',
    align: 'right',
    phone: 'line-aside',
    cell: ({ quota, limit }) => quotaText(quota, limit),
  },
  {
    key: 'share',
    label: 'Share',
    shrink: true,
    phone: 'aside',
    cell: ({ quota, used, limit }) =>
      html`<${Meter} value=${used} max=${limit} label=${LABELS[quota] ?? quota} percent />`,
  },
];

/** @param {{user?: string}} props the id of another user */
export function QuotaUseTable({ user }) {
  const loaded = useResource(withQuery('/api/stats/quotas', { user }), { every: EVERY_MS });
  return (
    pendingOf(loaded) ??
    html`
      <${ErrorNotice} error=${loaded.error} title="Not up to date" />
      <${Table} label="Quotas and their use" columns=${COLUMNS} rows=${loaded.data?.quotas}
        rowKey=${(/** @type {QuotaUse} */ one) => one.quota} />
    `
  );
}
