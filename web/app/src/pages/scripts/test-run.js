/** Runs a script, its draft or a new script as the current user, and shows result, output and time. */
import { useAction } from '../../lib/action.js';
import { api, withQuery } from '../../lib/api.js';
import { formatDuration } from '../../lib/duration.js';
import { exactTime } from '../../lib/format.js';
import { parseJson, prettyJson } from '../../lib/json.js';
import { html, useId, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Status } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Select, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { EVENT_TYPES, faultOf, sampleOf } from './kinds.js';

/** @import { ScriptFault, ScriptKind } from 'api' */

/**
 * `result` is JSON as text, because a script may return integers too large for JavaScript.
 * @typedef {{result: string, error: ScriptFault | null, output: string, ms: number}} RunResult
 */

/**
 * @param {object} props
 * @param {ScriptKind} props.kind
 * @param {string} props.name of the script in tracebacks
 * @param {any} props.schema of the params; the params follow it until the user edits them
 * @param {string} props.path of the request
 * @param {Record<string, any>} props.body what runs: members of the request besides the input
 * @param {string} props.about what runs, and what is not changed
 * @param {string} props.action the label of the button
 * @param {(fault: import('./kinds.js').SourceFault | null) => void} props.onFault called with the faulty line of the
 *   script
 */
export function TestRun({ kind, name, schema, path, body, about, action, onFault }) {
  const [typed, setParams] = useState(/** @type {string | null} */ (null));
  const [eventType, setEventType] = useState(EVENT_TYPES[0]);
  const [eventId, setEventId] = useState('');
  const [ran, setRan] = useState(/** @type {RunResult | null} */ (null));
  const tool = kind === 'tool';
  const params = typed ?? prettyJson(sampleOf(schema));
  const parsed = parseJson(params.trim() || '{}');

  const running = useAction(async () => {
    onFault(null);
    const rest = JSON.stringify({
      ...body,
      ...(!tool && (eventId ? { event_id: eventId } : { event_type: eventType.trim() })),
    });
    // The params are sent as typed, so that large integers arrive unchanged.
    const given = `"params":${params.trim() || '{}'}`;
    const sent = tool ? `{${given}${rest === '{}' ? '' : ','}${rest.slice(1)}` : rest;
    let answer;
    try {
      answer = readRun(await (await api.raw('POST', path, sent)).text());
    } catch (refused) {
      // A draft with a syntax error is rejected before it runs.
      onFault(faultOf(refused));
      throw refused;
    }
    setRan(answer);
    const own = answer.error?.line && answer.error.file === `${name}.py`;
    if (own)
      onFault({
        ran: true,
        line: answer.error?.line ?? null,
        message: `Line ${answer.error?.line}, in the last run: ${answer.error?.message}`,
      });
  });
  const { run, error } = running;
  return html`
    <${Card} title="Test run"
      description=${`${tool ? 'Calls main as you.' : 'Runs it as you, with a sample event or a past one.'} ${about}`}>
      <${Form} submit=${action} icon="play" action=${running} disabled=${tool && !parsed.ok}>
        ${
          tool
            ? html`
              <${CodeEditor} label="Params" language="json" rows=${5} maxRows=${16} value=${params} onInput=${setParams}
                error=${parsed.ok ? '' : parsed.message} errorLine=${parsed.ok ? null : parsed.line}
                onSubmit=${() => parsed.ok && void run()} />
            `
            : html`
              <${PastEvent} value=${eventId} onInput=${setEventId} />
              ${!eventId && html`<${EventType} value=${eventType} onInput=${setEventType} />`}
            `
        }
      </${Form}>
      <div aria-live="polite" class="run-outcome">
        ${!error && ran && html`<${Outcome} ran=${ran} tool=${tool} />`}
      </div>
    </${Card}>
  `;
}

/** The maximum number of past events to choose from. */
const EVENTS_MAX = 50;

/** A choice of the newest events. @param {{value: string, onInput: (id: string) => void}} props */
function PastEvent({ value, onInput }) {
  const events = useResource(withQuery('/api/events', { limit: EVENTS_MAX })).data?.events ?? [];
  const options = events.map((/** @type {any} */ event) => ({
    value: event.event_id,
    label: `${event.event_type}, ${exactTime(event.event_ts)}`,
  }));
  return html`
    <${Select} label="Event" value=${value} onInput=${onInput}
      options=${[{ value: '', label: 'A sample event' }, ...options]} />
  `;
}

/** @param {{value: string, onInput: (text: string) => void}} props */
function EventType({ value, onInput }) {
  const id = useId();
  return html`
    <${TextInput} label="Event type" mono required value=${value} onInput=${onInput} list=${id} autocomplete="off"
      hint="System types get a typical payload." />
    <datalist id=${id}>${EVENT_TYPES.map((type) => html`<option key=${type} value=${type} />`)}</datalist>
  `;
}

/** @param {{ran: RunResult, tool: boolean}} props */
function Outcome({ ran, tool }) {
  const took = formatDuration(ran.ms);
  return html`
    <p>
      <${Status} tone=${ran.error ? 'bad' : 'good'}>
        ${ran.error ? `Failed after ${took}` : `Succeeded in ${took}`}
      </${Status}>
    </p>
    ${
      ran.error &&
      html`
        <div class="stack-small">
          <h3>Error</h3>
          <p class="run-error">${ran.error.message}</p>
          ${ran.error.traceback && html`<${CodeBlock} text=${ran.error.traceback} label="traceback" />`}
        </div>
      `
    }
    ${
      tool &&
      !ran.error &&
      html`
        <div class="stack-small">
          <h3>Result</h3><${CodeBlock} text=${ran.result} language="json" label="result" wrap />
        </div>
      `
    }
    <div class="stack-small">
      <h3>Output</h3>
      ${
        ran.output
          ? html`<${CodeBlock} text=${ran.output} label="output" wrap />`
          : html`<p class="muted small">It printed nothing.</p>`
      }
    </div>
  `;
}

/**
 * @param {string} text
 * @returns {RunResult}
 */
function readRun(text) {
  const { rawJSON } = /** @type {any} */ (JSON);
  const keep = (
    /** @type {string} */ _key,
    /** @type {any} */ value,
    /** @type {{source?: string} | undefined} */ context,
  ) => {
    const inexact =
      typeof value === 'number' && context?.source !== undefined && rawJSON && String(value) !== context.source;
    return inexact ? rawJSON(context.source) : value;
  };
  const { result } = JSON.parse(text, /** @type {any} */ (keep));
  return { ...JSON.parse(text), result: prettyJson(result) };
}
