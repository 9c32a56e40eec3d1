/** Schedules of the user: events at the times of cron expressions. */
import { at } from '../lib/api.js';
import { html } from '../lib/preact.js';
import { Status } from '../ui/badge.js';
import { EmptyState } from '../ui/empty-state.js';
import { DeleteDialog, RecordPage } from '../ui/record-page.js';
import { timeColumn } from '../ui/table.js';
import { ScheduleDrawer } from './schedules/drawer.js';
import { NewScheduleDialog } from './schedules/new-schedule.js';

/** @import { Schedule } from 'api' */

export default function SchedulesPage() {
  return html`
    <${RecordPage} path="/api/schedules" name="schedules" kind="schedule" title="Schedules"
      description="Events at certain times, for sinks, scripts and methods."
      add="New schedule" form=${NewScheduleDialog} drawer=${ScheduleDrawer} dialogs=${{ delete: DeleteSchedule }}
      columns=${() => COLUMNS} empty=${Empty} />
  `;
}

/** @param {import('../ui/record-page.js').About<Schedule>} about */
function DeleteSchedule(about) {
  const { id, name } = about.record;
  return html`
    <${DeleteDialog} about=${about} path=${at('/api/schedules/{id}', { id })} title="Delete this schedule?"
      action="Delete schedule" said=${`Schedule ${name} deleted`}>
      <p><strong class="mono anywhere">${name}</strong> does not run any more. Its events stay.</p>
    </${DeleteDialog}>
  `;
}

/** @param {Schedule} schedule */
const stateOf = ({ active, failure }) => (!active ? 'off' : failure ? 'failing' : 'active');

/** @type {import('../ui/table.js').Column<Schedule>[]} */
const COLUMNS = [
  { key: 'name', label: 'Name', sort: true, cell: (one) => html`<span class="strong anywhere">${one.name}</span>` },
  {
    key: 'cron',
    label: 'Runs at',
    sort: true,
    cell: (one) => html`<span class="mono">${one.cron}</span> <span class="muted">${one.timezone}</span>`,
  },
  timeColumn('next_at', 'Next', { shrink: true, none: 'never' }),
  timeColumn('last_at', 'Last', { shrink: true, none: 'never' }),
  {
    key: 'active',
    label: 'Status',
    shrink: true,
    sort: stateOf,
    cell: (one) => html`<${Status} tone=${TONES[stateOf(one)]}>${stateOf(one)}</${Status}>`,
  },
];

/** @type {Record<string, import('../ui/badge.js').Tone>} */
const TONES = { off: 'neutral', failing: 'bad', active: 'good' };

/** @param {{add: any}} page */
const Empty = ({ add }) => html`
  <${EmptyState} icon="clock" title="No schedules yet" action=${add}
    command="svc schedule create nightly --cron '0 2 * * *' --timezone Europe/Berlin">
    A schedule emits an event at certain times. Create one here, or with the command line:
  </${EmptyState}>
`;
