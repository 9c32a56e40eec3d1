/** The fields of a new or existing script. */

import { HINTS } from '../../lib/hints.js';
import { parseJson } from '../../lib/json.js';
import { html, useEffect, useRef } from '../../lib/preact.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Select, TextInput } from '../../ui/field.js';
import { withCode } from '../../ui/rich-text.js';

/** @typedef {import('./draft.js').Draft} Draft */

/**
 * @param {object} props
 * @param {Draft} props.draft
 * @param {(change: Partial<Draft>) => void} props.onChange
 * @param {boolean} [props.readOnly]
 */
export function NameFields({ draft, onChange, readOnly }) {
  return html`
    <${TextInput} label="Name" mono required maxlength="64" value=${draft.name} readonly=${readOnly}
      onInput=${(/** @type {string} */ name) => onChange({ name })} autocomplete="off" />
    <${TextInput} label="Description" optional maxlength="1000" value=${draft.description} readonly=${readOnly}
      onInput=${(/** @type {string} */ description) => onChange({ description })} autocomplete="off" />
  `;
}

/**
 * @param {object} props
 * @param {Draft} props.draft
 * @param {(change: Partial<Draft>) => void} props.onChange
 * @param {import('./kinds.js').SourceFault | null} props.fault
 * @param {boolean} [props.readOnly]
 * @param {() => void} [props.onSubmit]
 * @param {any} [props.hint]
 */
export function SourceField({ draft, onChange, fault, readOnly, onSubmit, hint }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => showLine(frame.current, fault), [fault]);
  return html`
    <div ref=${frame}>
      <${CodeEditor} label="Source" language="python" rows=${14} maxRows=${34} value=${draft.source}
        readOnly=${readOnly} hint=${hint} error=${fault && withCode(fault.message)} errorLine=${fault?.line}
        onInput=${(/** @type {string} */ source) => onChange({ source })} onSubmit=${onSubmit} />
    </div>
  `;
}

/**
 * Scrolls the editor to the faulty line.
 * @param {HTMLElement | null} frame
 * @param {import('./kinds.js').SourceFault | null} fault if a run found it, only the editor scrolls,
 *   so that the outcome of the run stays visible
 */
function showLine(frame, fault) {
  const box = frame?.querySelector('.editor');
  // The editor must not move while the user types.
  if (!fault?.line || fault.typed || !box) return;
  if (!fault.ran) box.scrollIntoView({ block: 'nearest' });
  box.scrollTop = fault.line * Number.parseFloat(getComputedStyle(box).lineHeight) - box.clientHeight / 2;
}

const STATED = [
  { value: '', label: 'not stated' },
  { value: 'true', label: 'yes' },
  { value: 'false', label: 'no' },
];

/**
 * Title and annotations of a tool.
 * @param {{draft: Draft, onChange: (change: Partial<Draft>) => void, readOnly?: boolean}} props
 */
export function ToolFields({ draft, onChange, readOnly }) {
  const state = (/** @type {string} */ key, /** @type {string} */ stated) =>
    onChange({ hints: { ...draft.hints, [key]: stated === '' ? null : stated === 'true' } });
  return html`
    <${TextInput} label="Title" optional maxlength="256" value=${draft.title} readonly=${readOnly}
      hint="The name that people see; MCP clients show it." autocomplete="off"
      onInput=${(/** @type {string} */ title) => onChange({ title })} />
    ${HINTS.map(
      ({ key, label }) => html`
        <${Select} key=${key} label=${label} options=${STATED} value=${String(draft.hints[key] ?? '')}
          disabled=${readOnly} onInput=${(/** @type {string} */ stated) => state(key, stated)} />
      `,
    )}
  `;
}

/** @param {{draft: Draft, onChange: (change: Partial<Draft>) => void, readOnly?: boolean}} props */
export function SchemaField({ draft, onChange, readOnly }) {
  const parsed = draft.schema.trim() === '' ? null : parseJson(draft.schema);
  const wrong = parsed && !parsed.ok ? parsed : null;
  return html`
    <${CodeEditor} label="Params schema" language="json" rows=${6} maxRows=${18} value=${draft.schema}
      readOnly=${readOnly}
      hint="JSON Schema of an object; empty for none. It informs clients, but main must check its params itself."
      error=${wrong?.message} errorLine=${wrong?.line}
      onInput=${(/** @type {string} */ schema) => onChange({ schema })} />
  `;
}
