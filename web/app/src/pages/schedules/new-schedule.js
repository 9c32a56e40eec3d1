/** The form of a new schedule, with a preview of its next runs. */
import { api } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Dialog } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Select, Textarea, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Runs } from './runs.js';

const MISSED = [
  { value: 'once', label: 'Run the latest one' },
  { value: 'skip', label: 'Skip them' },
  { value: 'all', label: 'Run all of them, at most 100' },
];

/** @param {{onClose: () => void, onCreated: (schedule: import('../schedules.js').Schedule) => Promise<void>}} props */
export function NewScheduleDialog({ onClose, onCreated }) {
  const [name, setName] = useState('');
  const [cron, setCron] = useState('0 2 * * *');
  const [timezone, setTimezone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC');
  const [payload, setPayload] = useState('');
  const [missed, setMissed] = useState('once');
  const submit = async () => {
    const body = { name: name.trim(), cron, timezone, missed, payload: parsePayload(payload) };
    await onCreated(await api.post('/api/schedules', body));
  };
  return html`
    <${Dialog} title="New schedule" onClose=${onClose}>
      <${Form} submit="Create schedule" onSubmit=${submit} onCancel=${onClose}>
        <${TextInput} label="Name" value=${name} onInput=${setName} placeholder="nightly" autocomplete="off"
          maxlength="48" required hint=${`Its events are schedule.${name.trim() || 'name'}`} />
        <${TextInput} label="Cron expression" value=${cron} onInput=${setCron} mono required autocomplete="off"
          maxlength="128" hint="Minute, hour, day of month, month, day of week." />
        <${TextInput} label="Time zone" value=${timezone} onInput=${setTimezone} required autocomplete="off"
          maxlength="64" />
        <${Preview} cron=${cron} timezone=${timezone} />
        <${Textarea} label="Payload" value=${payload} onInput=${setPayload} mono rows=${3} optional
          placeholder='{"job": "backup"}' hint="A JSON object, in the data of each event." />
        <${Select} label="Runs that were missed while the server was down" value=${missed} options=${MISSED}
          onInput=${setMissed} />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{cron: string, timezone: string}} props */
function Preview({ cron, timezone }) {
  const query = new URLSearchParams({ cron, timezone, count: '3' });
  const next = useResource(cron && timezone ? `/api/schedules/preview?${query}` : null);
  if (next.error) return html`<${ErrorNotice} error=${next.error} />`;
  return html`<${Runs} runs=${next.data?.runs ?? []} />`;
}

/** @param {string} text */
function parsePayload(text) {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('The payload is not JSON.');
  }
}
