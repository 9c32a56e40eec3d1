/** The form of a new schedule, with a preview of its next runs. */

import { api, withQuery } from '../../lib/api.js';
import { useStoredDraft } from '../../lib/draft.js';
import { Refusal } from '../../lib/errors.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Dialog } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Select, Textarea, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { Runs } from './runs.js';

/** @import { Schedule } from 'api' */

const MISSED = [
  { value: 'once', label: 'Run the latest one' },
  { value: 'skip', label: 'Skip them' },
  { value: 'all', label: 'Run all of them, at most 100' },
];

/** @param {{onClose: () => void, onCreated: (schedule: Schedule) => Promise<void>}} props */
export function NewScheduleDialog({ onClose, onCreated }) {
  const [draft, setDraft, forget] = useStoredDraft('schedule-new', {
    name: '',
    cron: '0 2 * * *',
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
    payload: '',
    missed: 'once',
  });
  const { name, cron, timezone, payload, missed } = draft;
  const put = (/** @type {keyof typeof draft} */ member) => (/** @type {string} */ value) =>
    setDraft((old) => ({ ...old, [member]: value }));
  const submit = async () => {
    const body = { name: name.trim(), cron, timezone, missed, payload: parsePayload(payload) };
    const created = await api.post('/api/schedules', body);
    forget();
    await onCreated(created);
    toast(`Schedule ${created.name} created`);
  };
  const close = () => {
    forget();
    onClose();
  };
  return html`
    <${Dialog} title="New schedule" onClose=${close}>
      <${Form} submit="Create schedule" onSubmit=${submit} onCancel=${close}>
        <${TextInput} label="Name" value=${name} onInput=${put('name')} placeholder="nightly" autocomplete="off"
          maxlength="48" required hint=${`Its events are schedule.${name.trim() || 'name'}`} />
        <${TextInput} label="Cron expression" value=${cron} onInput=${put('cron')} mono required autocomplete="off"
          maxlength="128" hint="Minute, hour, day of month, month, day of week." />
        <${TextInput} label="Time zone" value=${timezone} onInput=${put('timezone')} required autocomplete="off"
          maxlength="64" />
        <${Preview} cron=${cron} timezone=${timezone} />
        <${Textarea} label="Payload" value=${payload} onInput=${put('payload')} mono rows=${3} optional
          placeholder='{"job": "backup"}' hint="A JSON object, in the data of each event." />
        <${Select} label="Runs that were missed while the server was down" value=${missed} options=${MISSED}
          onInput=${put('missed')} />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{cron: string, timezone: string}} props */
function Preview({ cron, timezone }) {
  const next = useResource(cron && timezone ? withQuery('/api/schedules/preview', { cron, timezone, count: 3 }) : null);
  if (next.error) return html`<${ErrorNotice} error=${next.error} />`;
  return html`<${Runs} runs=${next.data?.runs ?? []} />`;
}

/** @param {string} text */
function parsePayload(text) {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('The payload is not JSON.');
  }
}
