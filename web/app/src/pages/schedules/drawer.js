/** One schedule: its settings, its next runs, and buttons that run it, switch it off or on, or delete it. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { Drawer } from '../../ui/dialog.js';
import { ErrorNotice, Notice } from '../../ui/error-notice.js';
import { JsonView } from '../../ui/json-view.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { Runs } from './runs.js';

/** @import { Schedule } from 'api' */

/** @param {import('../../ui/record-page.js').About<Schedule>} props */
export function ScheduleDrawer({ record: schedule, onClose, onChanged, onAsk }) {
  const next = useResource(at('/api/schedules/{id}/next', { id: schedule.id }), { every: 30_000 });
  const run = useAction(async () => {
    await api.post(at('/api/schedules/{id}/run', { id: schedule.id }));
    await onChanged();
    toast(`Event schedule.${schedule.name} emitted`);
  });
  const change = useAction(async () => {
    await api.patch(at('/api/schedules/{id}', { id: schedule.id }), { active: !schedule.active });
    await onChanged();
    toast(`Schedule ${schedule.name} is ${schedule.active ? 'off' : 'active'}`);
  });
  const footer = html`
    <${Button} icon="trash" onClick=${() => onAsk('delete')}>Delete</${Button}>
    <${Button} busy=${change.busy} onClick=${change.run}>${schedule.active ? 'Switch off' : 'Switch on'}</${Button}>
    <${Button} kind="primary" busy=${run.busy} onClick=${run.run}>Run now</${Button}>
  `;
  return html`
    <${Drawer} title=${schedule.name} onClose=${onClose} footer=${footer}>
      <div class="stack">
        <${ErrorNotice} error=${run.error ?? change.error} />
        ${
          schedule.failure &&
          html`
            <${Notice} tone="bad" icon="alert" title="The last run made no event"><p>${schedule.failure}</p></${Notice}>
          `
        }
        <${KeyValue}
          items=${[
            ['Events', html`<span class="mono">schedule.${schedule.name}</span>`],
            ['Runs at', html`<span class="mono">${schedule.cron}</span> ${schedule.timezone}`],
            ['Missed runs', schedule.missed],
            schedule.description && ['Description', schedule.description],
            [
              'Last run',
              schedule.last_event_id
                ? html`<a href=${`/events/${schedule.last_event_id}`}><${Time} value=${schedule.last_at} exact /></a>`
                : 'never',
            ],
          ]} />
        <h3>Next runs</h3>
        <${ErrorNotice} error=${next.error} />
        ${
          schedule.active
            ? html`<${Runs} runs=${next.data?.runs ?? []} />`
            : html`<p class="muted">None: the schedule is off.</p>`
        }
        <h3>Payload</h3>
        <${JsonView} value=${schedule.payload} label="payload" />
      </div>
    </${Drawer}>
  `;
}
