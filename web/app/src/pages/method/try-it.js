/** Calls the method: a form from its schema, the params as JSON, and the outcome. */
import { useStoredDraft } from '../../lib/draft.js';
import { kindOf, parseExact } from '../../lib/exact.js';
import { plural } from '../../lib/format.js';
import { prettyJson } from '../../lib/json.js';
import { html, useEffect, useMemo, useRef, useState } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Notice } from '../../ui/error-notice.js';
import { useCall } from './call.js';
import { ArrayField, Members } from './containers.js';
import { CopyAs } from './copy-as.js';
import { filledParams, paramsDraft } from './draft.js';
import { SchemaField } from './fields.js';
import { FormContext } from './form-context.js';
import { Outcome } from './outcome.js';
import { problemsOf } from './problems.js';
import { SavedMenu, useLinkedParams } from './saved.js';
import { exampleParams, initialOf, shapeOf } from './schema.js';

/** @import { Method } from 'api' */

/** @param {{method: Method}} props */
export function TryIt({ method }) {
  const draft = paramsDraft(method);
  const params = useParams(method, draft);
  const call = useCall(method.name, { keep: draft !== null });
  const { report, problem } = useProblems();
  const fromLink = useLinkedParams(params.write);
  const [tried, setTried] = useState(false);
  const blocked = params.problem || problem;
  const problems = useMemo(
    () => (tried && params.shape ? problemsOf(params.schema, params.value) : []),
    [tried, params.schema, params.value],
  );
  const run = () => {
    if (!blocked) void call.run(params.text.trim());
  };
  const send = () => {
    setTried(true);
    if (!params.shape || problemsOf(params.schema, params.value).length === 0) run();
  };
  const example = useMemo(() => exampleParams(params.schema), [params.schema]);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
    event.preventDefault();
    send();
  };
  const form =
    params.shape &&
    html`
      <${FormContext.Provider} value=${{ root: params.schema, tried, Field: SchemaField, report }}>
        <div class="try-form stack" role="group" aria-label="Params">
          <${Fields} shape=${params.shape} value=${params.value} onChange=${params.change} />
        </div>
      </${FormContext.Provider}>
    `;
  return html`
    <${Card} title="Try it" id="try"
      description=${params.shape ? 'Fill in the form or write the JSON; both stay in sync.' : noForm(method)}>
      <div class=${params.shape ? 'try-it' : 'stack'} onKeyDown=${onKey}>
        ${form}
        <div class="try-side stack">
          <${CodeEditor} label="Params as JSON" language="json" rows=${6} maxRows=${20} value=${params.text}
            onInput=${params.write} error=${params.problem} errorLine=${params.line} onSubmit=${send} />
          ${
            fromLink &&
            html`
              <${Notice} title="These params come from a link">
                <p>Check them before you call.</p>
              </${Notice}>
            `
          }
          <div class="row try-bar">
            <${Button} kind="primary" icon="play" busy=${call.busy} disabled=${Boolean(blocked)} onClick=${send}>
              Call
            </${Button}>
            ${call.busy && html`<${Button} onClick=${call.cancel}>Cancel</${Button}>`}
            ${
              example !== undefined &&
              html`<${Button} kind="ghost" onClick=${() => params.change(example)}>Fill example</${Button}>`
            }
            ${!call.busy && params.changed && html`<${Button} kind="ghost" onClick=${params.reset}>Reset</${Button}>`}
            ${draft !== null && html`<${SavedMenu} method=${method.name} text=${params.text} onPick=${params.write} />`}
            <span class="muted small">
              ${problem && !params.problem ? 'A field contains invalid JSON.' : 'Ctrl+Enter calls'}
            </span>
          </div>
          ${
            problems.length > 0 &&
            html`<${Problems} problems=${problems} onSend=${run} disabled=${call.busy || Boolean(blocked)} />`
          }
          <${Outcome} call=${call} />
        </div>
      </div>
    </${Card}>
    <${CopyAs} name=${method.name} tool=${method.mcp_tool ? method.mcp_tool_name : null} params=${params.value} />
  `;
}

/** @param {{problems: import('./problems.js').Problem[], onSend: () => void, disabled: boolean}} props */
function Problems({ problems, onSend, disabled }) {
  return html`
    <${Notice} tone="warn" icon="alert" title=${`${plural(problems.length, 'problem')} in the params`}>
      <ul class="stack-small" aria-label="Problems">
        ${problems.map(({ path, message }) => html`<li key=${path}><code>${path}</code> ${message}</li>`)}
      </ul>
      <p><${Button} size="small" disabled=${disabled} onClick=${onSend}>Send anyway</${Button}></p>
    </${Notice}>
  `;
}

/** @param {Method} method */
function noForm(method) {
  return method.params_schema
    ? 'The schema leaves the params open, so there is no form: write them as JSON.'
    : 'The method declares no params schema, so there is no form: write its params as JSON.';
}

/** @param {{shape: import('./schema.js').Shape, value: any, onChange: (value: any) => void}} props */
function Fields({ shape, value, onChange }) {
  if (shape.kind === 'array')
    return html`
      <${ArrayField} name="params" path="" shape=${shape} required value=${Array.isArray(value) ? value : undefined}
        onChange=${onChange} error="" />
    `;
  if (shape.kind !== 'object')
    return html`
      <${SchemaField} name="params" path="" part=${shape.schema} required value=${value} onChange=${onChange} />
    `;
  const none = Object.keys(shape.schema.properties ?? {}).length === 0;
  if (none) return html`<p class="muted">This method takes no params.</p>`;
  return html`
    <${Members} name="params" path="" schema=${shape.schema} value=${kindOf(value) === 'object' ? value : undefined}
      onChange=${onChange} />
  `;
}

/**
 * The params as text and as value. The form changes both; while the text is invalid JSON, the form shows the last valid
 * value.
 * @param {Method} method
 * @param {string | null} draft the name of the draft that the tab keeps; null to keep none
 */
function useParams({ name, params_schema: declared }, draft) {
  // Polling returns an equal schema as a new object; this must not reset the form.
  const schema = useMemo(() => declared ?? {}, [JSON.stringify(declared)]);
  const shape = useMemo(() => shapeOf(schema, schema), [schema]);
  const first = useMemo(() => prettyJson(initialOf(schema, schema) ?? (shape.kind === 'array' ? [] : {})), [schema]);
  const [text, setText, forget] = useStoredDraft(draft, first);
  const start = useRef(first);
  useEffect(() => {
    if (first === start.current) return;
    // After a new registration, untouched params follow the new schema.
    if (text === start.current) {
      setText(first);
      forget(first);
    }
    start.current = first;
  }, [first]);
  const filled = filledParams.value;
  useEffect(() => {
    if (filled?.name !== name) return;
    filledParams.value = null;
    setText(filled.text);
  }, [filled]);

  const parsed = useMemo(
    () => (text.trim() === '' ? /** @type {const} */ ({ ok: true, value: undefined }) : parseExact(text)),
    [text],
  );
  const last = useRef(/** @type {any} */ (undefined));
  if (parsed.ok) last.current = parsed.value;
  const wrong = parsed.ok && parsed.value !== undefined && !['object', 'array', 'null'].includes(kindOf(parsed.value));
  return {
    schema,
    shape: ['object', 'array', 'variants', 'map'].includes(shape.kind) ? shape : null,
    text,
    value: last.current ?? undefined,
    problem: parsed.ok ? (wrong ? 'Params must be an object or an array.' : '') : parsed.message,
    line: parsed.ok ? null : parsed.line,
    changed: text !== first,
    write: setText,
    change: (/** @type {any} */ value) => setText(value === undefined ? '' : prettyJson(value)),
    reset: () => setText(first),
  };
}

/** Fields with invalid JSON: the value does not contain their text, so a call would send other params. */
function useProblems() {
  const [problems, setProblems] = useState(/** @type {Record<string, string>} */ ({}));
  const report = useMemo(
    () => (/** @type {string} */ path, /** @type {string} */ message) =>
      setProblems((old) => {
        if ((old[path] ?? '') === message) return old;
        const { [path]: _, ...others } = old;
        return message ? { ...others, [path]: message } : others;
      }),
    [],
  );
  return { report, problem: Object.values(problems)[0] ?? '' };
}
