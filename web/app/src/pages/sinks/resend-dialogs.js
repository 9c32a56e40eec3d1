/** Dialogs that send many past events again. Both can count the events before they send. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { formatNumber, localTime, plural, utcTime } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog, Dialog } from '../../ui/dialog.js';
import { ErrorNotice, Notice, pendingOf } from '../../ui/error-notice.js';
import { Checkbox, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';

/** @import { Sink } from 'api' */

/** A time before all deliveries, so that all dead deliveries of the log are included. */
const EVER = '1970-01-01T00:00:00Z';

/** @param {{sink: Sink, onClose: () => void, onDone: () => Promise<void>}} props */
export function ResendDeadDialog({ sink, onClose, onDone }) {
  const path = at('/api/event-sinks/{id}/resend', { id: sink.id });
  const counted = useResource((signal) => api.post(path, { dead_since: EVER, dry_run: true }, { signal }), {
    deps: [path],
  });
  if (!counted.data)
    return html`<${Dialog} title="Resend all dead" onClose=${onClose}>${pendingOf(counted)}</${Dialog}>`;
  const { feeding: count = 0 } = counted.data;
  if (count === 0)
    return html`
      <${Dialog} title="Resend all dead" onClose=${onClose}
        footer=${html`<${Button} onClick=${onClose}>Close</${Button}>`}>
        <p>No dead delivery is left to send again.</p>
      </${Dialog}>
    `;
  const confirm = async () => {
    const { feeding = 0 } = await api.post(path, { dead_since: EVER });
    toast(`${plural(feeding, 'delivery', 'deliveries')} queued again`);
    await onDone();
  };
  return html`
    <${ConfirmDialog} title="Resend all dead" kind="primary" action=${`Resend ${formatNumber(count)}`}
      onConfirm=${confirm} onClose=${onClose}>
      <p>
        ${plural(count, 'dead delivery', 'dead deliveries')} of <span class="mono">${sink.name}</span> will be queued
        again as the queue drains. Deliveries that were sent again already are left out.
      </p>
    </${ConfirmDialog}>
  `;
}

/** @param {{sink: Sink, onClose: () => void, onDone: () => void}} props */
export function ReplayDialog({ sink, onClose, onDone }) {
  const [since, setSince] = useState(() => localTime(Date.now() - 24 * 3_600_000, 'seconds'));
  const [until, setUntil] = useState('');
  const [undelivered, setUndelivered] = useState((sink.lost ?? 0) > 0);
  const [result, setResult] = useState(/** @type {{queued: number, dropped: number} | null} */ (null));
  const [matching, setMatching] = useState(/** @type {number | null} */ (null));
  const request = { since: utcTime(since), until: utcTime(until), only: undelivered ? 'undelivered' : undefined };
  const path = at('/api/event-sinks/{id}/replay', { id: sink.id });
  const count = useAction(async () => {
    setMatching((await api.post(path, { ...request, dry_run: true })).matching ?? null);
  });
  /** Clears the count when a value changes: the count was for the old value. @param {(value: any) => void} set */
  const changing = (set) => (/** @type {any} */ value) => {
    setMatching(null);
    set(value);
  };
  const submit = async () => {
    setResult(null);
    const replayed = await api.post(path, request);
    onDone();
    // If events were skipped, the dialog stays open for another replay.
    if (replayed.dropped > 0) return setResult(replayed);
    toast(`${plural(replayed.queued + (replayed.feeding ?? 0), 'event')} queued`);
    return onClose();
  };
  return html`
    <${Dialog} title="Replay past events" onClose=${onClose}>
      <${Form} submit="Replay" onSubmit=${submit} onCancel=${onClose}>
        <p class="muted">
          Queues the past events that match <span class="mono">${sink.name}</span> again, oldest first.
        </p>
        <${TextInput} label="Since" type="datetime-local" step="1" value=${since} onInput=${changing(setSince)}
          hint="If empty: the last 24 hours." />
        <${TextInput} label="Until" type="datetime-local" step="1" optional value=${until}
          onInput=${changing(setUntil)} />
        <${Checkbox} label="Only events that were not delivered" checked=${undelivered}
          onChange=${changing(setUndelivered)}
          hint=${
            undelivered
              ? 'Dead, dropped and never queued events. They are queued as the queue drains.'
              : 'Delivered events are sent again too, until the queue is full.'
          } />
        <${ErrorNotice} error=${count.error} title="Not counted" />
        <div class="row">
          <${Button} size="small" busy=${count.busy} onClick=${() => count.run()}>Count</${Button}>
          <span role="status">${matching !== null && `${plural(matching, 'event matches', 'events match')}`}</span>
        </div>
        <div role="status">
          ${
            result &&
            html`
              <${Notice} tone="warn" icon="alert">
                <p>
                  ${plural(result.queued, 'event')} queued, ${result.dropped} skipped because the queue was full.
                  When the queue is empty, replay again with a later time in “Since”.
                </p>
              </${Notice}>
            `
          }
        </div>
      </${Form}>
    </${Dialog}>
  `;
}
