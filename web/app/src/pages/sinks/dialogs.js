/** Dialogs of a sink: test, rotate the secret. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { exactTime } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { SecretDialog } from '../../ui/secret-once.js';
import { AttemptLine } from '../events/attempts.js';
import { exampleType } from '../events/patterns.js';
import { indentJson } from '../events/payload.js';
import { Decision, FormatHeaders } from './decision.js';
import { bodyWith, eventMembers } from './event-members.js';
import { SampleFields, useSample } from './sample.js';

/** @import { PreviewResult, Sink } from 'api' */

/** @param {{sink: Sink, onClose: () => void}} props */
export function TestDialog({ sink, onClose }) {
  const [sample, changeSample] = useSample();
  const [result, setResult] = useState(/** @type {PreviewResult | null} */ (null));
  const suggestion = exampleType(sink.patterns[0]);
  const ask = eventMembers(sample, suggestion);
  const test = useAction(async (/** @type {boolean} */ dry) => {
    setResult(null);
    if (ask)
      setResult(await api.post(at('/api/event-sinks/{id}/test', { id: sink.id }), bodyWith(ask, { dry_run: dry })));
  });
  const sends = sink.type !== 'json-rpc';
  const verb = sink.type === 'script' ? 'Run now' : 'Send now';
  return html`
    <${Dialog} title=${`Test ${sink.name}`} wide onClose=${onClose}
      footer=${html`
        <${Button} onClick=${onClose}>Close</${Button}>
        <${Button} kind=${sends ? 'secondary' : 'primary'} busy=${test.busy} disabled=${!ask}
          onClick=${() => test.run(true)}>
          Dry run
        </${Button}>
        ${
          sends &&
          html`
            <${Button} kind="primary" icon=${sink.type === 'script' ? 'play' : 'send'} busy=${test.busy}
              disabled=${!ask} onClick=${() => test.run(false)}>
              ${verb}
            </${Button}>
          `
        }
      `}>
      <div class="stack">
        <p class="muted">
          ${
            sends
              ? 'The event is sent once, without queue, retries or delivery log, also if the patterns or the filter ' +
                'reject it. A dry run only shows the body.'
              : 'A formatter sends nothing: the test shows its output for an event.'
          }
        </p>
        <${SampleFields} sample=${sample} change=${changeSample} suggestion=${suggestion} patterns=${sink.patterns} />
        <div class="stack" role="status">
          <${ErrorNotice} error=${test.error} />
          ${
            result?.attempt &&
            html`<section class="stack-small"><h3>Result</h3><${AttemptLine} attempt=${result.attempt} /></section>`
          }
          ${
            result &&
            html`
              <${Decision} patterns=${sink.patterns} filter=${sink.delivery?.filter} result=${result} />
              <section class="stack-small">
                <h3>${sink.type === 'script' ? 'The event as the script sees it' : 'Body'}</h3>
                <${FormatHeaders} headers=${result.format_headers} />
                <${CodeBlock} text=${indentJson(result.body)} language="json" label="body" wrap />
              </section>
            `
          }
        </div>
      </div>
    </${Dialog}>
  `;
}

/** @param {{sink: Sink, onClose: () => void}} props */
export function RotateDialog({ sink, onClose }) {
  const [hours, setHours] = useState('24');
  const [rotated, setRotated] = useState(/** @type {{secret: string, previous_until: string} | null} */ (null));
  if (rotated) {
    return html`
      <${SecretDialog} title="New signing secret" label="secret" secret=${rotated.secret} onClose=${onClose}>
        <p class="muted small">The old secret also signs until ${exactTime(rotated.previous_until)}.</p>
      </${SecretDialog}>
    `;
  }
  const submit = async () =>
    setRotated(
      await api.post(at('/api/event-sinks/{id}/rotate-secret', { id: sink.id }), { overlap_hours: Number(hours) }),
    );
  return html`
    <${Dialog} title="Rotate the signing secret?" onClose=${onClose}>
      <${Form} submit="Rotate secret" onSubmit=${submit} onCancel=${onClose}>
        <p class="muted">
          A new secret is created and shown once. For the number of hours below, the
          header <code>webhook-signature</code> contains a signature with the old secret and one with the new secret, so
          that the receiver accepts all requests.
        </p>
        <${TextInput} label="Hours both are valid" type="number" min="0" max="720" step="1" required value=${hours}
          onInput=${setHours} />
      </${Form}>
    </${Dialog}>
  `;
}
