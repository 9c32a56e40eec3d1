import { api } from '../../lib/api.js';
import { useStoredDraft } from '../../lib/draft.js';
import { hashOf } from '../../lib/hash.js';
import { parseJson } from '../../lib/json.js';
import { html, useMemo } from '../../lib/preact.js';
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
  // The copy of another event has another draft.
  const [draft, setDraft, forget] = useStoredDraft(`emit.${firstType}.${hashOf(firstPayload)}`, {
    type: firstType,
    payload: firstPayload,
  });
  const { type, payload } = draft;
  const change = (/** @type {Partial<typeof draft>} */ part) => setDraft((old) => ({ ...old, ...part }));
  const close = () => {
    forget();
    onClose();
  };
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
    forget();
    toast(`Emitted ${emitted.event_type}`);
    onEmitted(emitted.event_id);
  };
  return html`
    <${Dialog} title="Emit a custom event" onClose=${close} wide>
      <${Form} submit="Emit event" onSubmit=${submit} onCancel=${close}
        disabled=${!name || Boolean(typeProblem || payloadProblem)}>
        <${TextInput} label="Type" value=${type} mono required placeholder="build.done" autocomplete="off"
          onInput=${(/** @type {string} */ text) => change({ type: text })} error=${typeProblem}
          hint=${
            name
              ? html`The event will have the type <code>custom.${name}</code>.`
              : html`<code>custom.</code> is added in front, so that events of the server cannot be faked.`
          } />
        <${CodeEditor} label="Payload" language="json" value=${payload} rows=${8}
          onInput=${(/** @type {string} */ text) => change({ payload: text })}
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
