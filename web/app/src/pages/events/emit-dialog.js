import { api } from '../../lib/api.js';
import { parseJson } from '../../lib/json.js';
import { html, useMemo, useState } from '../../lib/preact.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Dialog } from '../../ui/dialog.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';

/**
 * Emits a custom event.
 * @param {{type?: string, payload?: string, onClose: () => void, onEmitted: (id: string) => void}} props
 */
export function EmitDialog({ type: firstType = '', payload: firstPayload = '{\n  \n}', onClose, onEmitted }) {
  const [type, setType] = useState(firstType);
  const [payload, setPayload] = useState(firstPayload);
  // A retry over a bad connection sends the same key; a changed event gets a new key.
  const key = useMemo(newKey, [type, payload]);
  const name = type.trim().replace(/^custom\./, '');
  const typeProblem =
    name && !/^[\w-]+(\.[\w-]+)*$/.test(name) ? 'Letters, digits, _ and -, in parts joined by dots.' : '';
  const parsed = parseJson(payload.trim() || '{}');
  const payloadProblem = problemOf(parsed);

  const submit = async () => {
    // Sent as text, because JavaScript would round large numbers.
    const body = `{"type":${JSON.stringify(name)},"payload":${payload.trim() || '{}'}}`;
    const emitted = await api.post('/api/events/emit', body, { headers: { 'Idempotency-Key': key } });
    toast(`Emitted ${emitted.event_type}`);
    onEmitted(emitted.event_id);
  };
  return html`
    <${Dialog} title="Emit a custom event" onClose=${onClose} wide>
      <${Form} submit="Emit event" onSubmit=${submit} onCancel=${onClose}
        disabled=${!name || Boolean(typeProblem || payloadProblem)}>
        <${TextInput} label="Type" value=${type} onInput=${setType} mono required placeholder="build.done"
          autocomplete="off" error=${typeProblem}
          hint=${
            name
              ? html`The event will have the type <code>custom.${name}</code>.`
              : html`<code>custom.</code> is added in front, so that events of the server cannot be faked.`
          } />
        <${CodeEditor} label="Payload" language="json" value=${payload} onInput=${setPayload} rows=${8}
          hint="A JSON object of at most 256 KiB." error=${payloadProblem}
          errorLine=${parsed.ok ? null : parsed.line} />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {import('../../lib/json.js').Parsed} parsed */
function problemOf(parsed) {
  if (!parsed.ok) return parsed.message;
  const object = parsed.value !== null && typeof parsed.value === 'object' && !Array.isArray(parsed.value);
  return object ? '' : 'The payload has to be an object: { … }.';
}

/** Not `crypto.randomUUID`: browsers do not offer it to pages that were loaded over plain HTTP. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
