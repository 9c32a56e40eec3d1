/** Schedules of the user: events at the times of cron expressions. */
import { api, at } from '../lib/api.js';
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
import { ScheduleDrawer } from './schedules/drawer.js';
import { NewScheduleDialog } from './schedules/new-schedule.js';

/** @import { Schedule } from 'api' */

export default function SchedulesPage() {
  const query = useQuery();
  const sorting = useSorting();
  const list = useList('/api/schedules', 'schedules', { query: { limit: 1000 }, every: 10_000 });
  const [deleting, setDeleting] = useState(/** @type {Schedule | null} */ (null));
  const schedules = /** @type {Schedule[]} */ (list.items ?? []);
  const open = schedules.find((schedule) => schedule.id === query.get('schedule'));
  const add = () => query.set({ new: 1 });
  const onCreated = async (/** @type {Schedule} */ schedule) => {
    query.set({ new: null });
    await list.reload();
    toast(`Schedule ${schedule.name} created`);
  };
  return html`
    <${PageHeader} title="Schedules" description="Events at certain times, for sinks, scripts and methods."
      actions=${html`<${Button} kind="primary" icon="plus" onClick=${add}>New schedule</${Button}>`} />
    <${Card} flush>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Schedules" choosable="schedules" columns=${COLUMNS} rows=${schedules}
            sorting=${list.hasMore ? null : sorting} empty=${html`<${Empty} onNew=${add} />`}
            onRow=${(/** @type {Schedule} */ schedule) => query.set({ schedule: schedule.id })}
            selected=${(/** @type {Schedule} */ schedule) => schedule === open} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      open &&
      !deleting &&
      html`
        <${ScheduleDrawer} key=${open.id} schedule=${open} onClose=${() => query.set({ schedule: null })}
          onChanged=${list.reload} onDelete=${() => setDeleting(open)} />
      `
    }
    ${
      query.get('new') &&
      html`<${NewScheduleDialog} onClose=${() => query.set({ new: null })} onCreated=${onCreated} />`
    }
    ${
      deleting &&
      html`
        <${ConfirmDialog} title="Delete this schedule?" action="Delete schedule" onClose=${() => setDeleting(null)}
          onConfirm=${async () => {
            await api.del(at('/api/schedules/{id}', { id: deleting.id }));
            query.set({ schedule: null });
            await list.reload();
            toast(`Schedule ${deleting.name} deleted`);
          }}>
          <p><strong class="mono anywhere">${deleting.name}</strong> does not run any more. Its events stay.</p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {Schedule} schedule */
const stateOf = ({ active, failure }) => (!active ? 'off' : failure ? 'failing' : 'active');

/** @type {import('../ui/table.js').Column<Schedule>[]} */
const COLUMNS = [
  {
    key: 'name',
    label: 'Name',
    sort: true,
    cell: (schedule) => html`<span class="strong anywhere">${schedule.name}</span>`,
  },
  {
    key: 'cron',
    label: 'Runs at',
    sort: true,
    cell: (schedule) =>
      html`<span class="mono">${schedule.cron}</span> <span class="muted">${schedule.timezone}</span>`,
  },
  timeColumn('next_at', 'Next', { shrink: true, none: 'never' }),
  timeColumn('last_at', 'Last', { shrink: true, none: 'never' }),
  {
    key: 'active',
    label: 'Status',
    shrink: true,
    sort: stateOf,
    cell: (schedule) => html`<${State} schedule=${schedule} />`,
  },
];

/** @type {Record<string, import('../ui/badge.js').Tone>} */
const TONES = { off: 'neutral', failing: 'bad', active: 'good' };

/** @param {{schedule: Schedule}} props */
export function State({ schedule }) {
  const state = stateOf(schedule);
  return html`<${Status} tone=${TONES[state]}>${state}</${Status}>`;
}

/** @param {{onNew: () => void}} props */
function Empty({ onNew }) {
  return html`
    <${EmptyState} icon="clock" title="No schedules yet"
      command="svc schedule create nightly --cron '0 2 * * *' --timezone Europe/Berlin"
      action=${html`<${Button} kind="primary" icon="plus" onClick=${onNew}>New schedule</${Button}>`}>
      A schedule emits an event at certain times. Create one here, or with the command line:
    </${EmptyState}>
  `;
}
