/** One source: its last requests, and buttons that test it, switch it off or on, or delete it. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { ErrorNotice, Notice } from '../../ui/error-notice.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';

/** @import { Source, SourceRequest, SourceTestResult } from 'api' */

/** @param {import('../../ui/record-page.js').About<Source>} props */
export function SourceDrawer({ record: source, onClose, onChanged, onAsk }) {
  const requests = useResource(at('/api/sources/{id}/requests', { id: source.id }), { every: 5_000 });
  const [tested, setTested] = useState(/** @type {SourceTestResult | null} */ (null));
  const test = useAction(async () => {
    setTested(await api.post(at('/api/sources/{id}/test', { id: source.id }), { dry_run: true }));
  });
  const change = useAction(async () => {
    await api.patch(at('/api/sources/{id}', { id: source.id }), { active: !source.active });
    await onChanged();
    toast(`Source ${source.name} is ${source.active ? 'off' : 'active'}`);
  });
  const footer = html`
    <${Button} icon="trash" onClick=${() => onAsk('delete')}>Delete</${Button}>
    <${Button} busy=${change.busy} onClick=${change.run}>${source.active ? 'Switch off' : 'Switch on'}</${Button}>
    <${Button} kind="primary" busy=${test.busy} onClick=${test.run}>Test</${Button}>
  `;
  return html`
    <${Drawer} title=${source.name} onClose=${onClose} footer=${footer}>
      <div class="stack">
        <${ErrorNotice} error=${test.error ?? change.error} />
        ${tested && html`<${TestResult} tested=${tested} />`}
        <${KeyValue}
          items=${[
            ['Events', html`<span class="mono">source.${source.name}.*</span>`],
            ['Verified as', source.verify.type],
            source.verify.deduplicate === 'none' && ['Equal requests', 'are different deliveries'],
            source.description && ['Description', source.description],
            source.previous_secret_until && [
              'Old secret until',
              html`<${Time} value=${source.previous_secret_until} exact />`,
            ],
            source.last_rejection && ['Last rejection', source.last_rejection.reason],
            ['Created', html`<${Time} value=${source.created_at} exact />`],
          ]} />
        <h3>Last requests</h3>
        <${ErrorNotice} error=${requests.error} />
        <${Table} label="Last requests" columns=${COLUMNS} rows=${requests.data?.requests ?? []} plain
          rowKey=${(/** @type {SourceRequest} */ request) => `${request.at} ${request.event_id}`}
          empty=${html`<p class="muted">No requests since the server started.</p>`} />
      </div>
    </${Drawer}>
  `;
}

/** @param {{tested: SourceTestResult}} props */
function TestResult({ tested }) {
  if (!tested.accepted)
    return html`<${Notice} tone="bad" icon="alert" title="The test was rejected"><p>${tested.reason}</p></${Notice}>`;
  return html`
    <${Notice} tone="good" icon="check" title="The test was accepted">
      <p>An empty request would become <span class="mono">${tested.event_type}</span>. Nothing was emitted.</p>
    </${Notice}>
  `;
}

/** @type {Record<string, 'good' | 'bad' | 'neutral'>} */
const TONES = { accepted: 'good', rejected: 'bad' };

/** @type {import('../../ui/table.js').Column<SourceRequest>[]} */
const COLUMNS = [
  { key: 'at', label: 'When', shrink: true, cell: (request) => html`<${Time} value=${request.at} />` },
  {
    key: 'outcome',
    label: 'Outcome',
    shrink: true,
    cell: (request) => html`<${Status} tone=${TONES[request.outcome] ?? 'neutral'}>${request.outcome}</${Status}>`,
  },
  {
    key: 'reason',
    label: 'Event or reason',
    cell: (request) =>
      request.event_id
        ? html`<a class="mono anywhere" href=${`/events/${request.event_id}`}>${request.event_type}</a>`
        : html`<span class="anywhere">${request.reason ?? ''}</span>`,
  },
];
