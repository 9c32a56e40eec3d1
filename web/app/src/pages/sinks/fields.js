/** The fields of the sink editor. */
import { withQuery } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button, IconButton } from '../../ui/button.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Segmented, Select, Textarea, TextInput } from '../../ui/field.js';
import { COMMON_PATTERNS, patternProblem, patternsOf } from '../events/patterns.js';
import { newHeader } from './draft.js';

/** @typedef {import('./draft.js').Draft} Draft */
/** @typedef {{draft: Draft, change: (part: Partial<Draft>) => void}} Editing */

/** @param {Editing} props */
export function PatternsField({ draft, change }) {
  const patterns = patternsOf(draft.patterns);
  const add = (/** @type {string} */ pattern) => change({ patterns: [...patterns, pattern].join('\n') });
  return html`
    <div class="stack-small">
      <${Textarea} label="Patterns" mono rows=${3} required value=${draft.patterns}
        onInput=${(/** @type {string} */ text) => change({ patterns: text })} placeholder="custom.deploy.*"
        error=${patternProblem(patterns)}
        hint="Event types: exact, or with a * at the end. One per line, or separated by commas." />
      <div class="row">
        <span class="muted small">Add</span>
        ${COMMON_PATTERNS.filter((pattern) => !patterns.includes(pattern)).map(
          (pattern) =>
            html`
              <${Button} key=${pattern} size="small" class="mono" onClick=${() => add(pattern)}
                aria-label=${`Add pattern ${pattern}`}>
                ${pattern}
              </${Button}>
            `,
        )}
      </div>
    </div>
  `;
}

/** @param {Editing} props */
export function HeadersField({ draft, change }) {
  const set = (/** @type {number} */ key, /** @type {Partial<import('./draft.js').Header>} */ part) =>
    change({ headers: draft.headers.map((header) => (header.key === key ? { ...header, ...part } : header)) });
  return html`
    <fieldset class="stack-small header-list">
      <legend class="label">Headers <span class="label-optional">optional</span></legend>
      ${draft.headers.map(
        (header, index) => html`
          <div key=${header.key} class="header-row">
            <${TextInput} label=${`Header ${index + 1} name`} hideLabel mono placeholder="X-Team" autocomplete="off"
              value=${header.name} onInput=${(/** @type {string} */ name) => set(header.key, { name })} />
            <${TextInput} label=${`Header ${index + 1} value`} hideLabel mono placeholder="blue" autocomplete="off"
              value=${header.value} onInput=${(/** @type {string} */ value) => set(header.key, { value })} />
            <${IconButton} icon="trash" label=${`Remove header ${index + 1}`}
              onClick=${() => change({ headers: draft.headers.filter((one) => one.key !== header.key) })} />
          </div>
        `,
      )}
      <div>
        <${Button} size="small" icon="plus" onClick=${() => change({ headers: [...draft.headers, newHeader()] })}>
          Add header
        </${Button}>
      </div>
      <p class="hint">
        Sent with every request, for instance a token the receiver asks for. Values are not shown again: ******** keeps
        the stored one.
      </p>
    </fieldset>
  `;
}

/** @param {Editing & {error: any}} props `error`: the template error of the preview */
export function TemplateField({ draft, change, error }) {
  const line = Number(/^template line (\d+)/.exec(error?.detail ?? '')?.[1] ?? 0) || null;
  return html`
    <div class="stack-small">
      <${Segmented} label="Body" hideLabel=${false} value=${draft.templated ? 'template' : 'default'}
        onInput=${(/** @type {string} */ value) => change({ templated: value === 'template' })}
        options=${[{ value: 'default', label: 'Default' }, { value: 'template', label: 'Template' }]} />
      ${
        draft.templated
          ? html`
            <${CodeEditor} label="Body template" language="template" value=${draft.template}
              onInput=${(/** @type {string} */ text) => change({ template: text })} rows=${9} error=${error?.detail}
              errorLine=${line}
              hint=${html`
                JSON with <code>${'${{ … }}'}</code> for values: <code>event</code> (id, type, ts,
                data), <code>space</code>, <code>actor</code>, <code>custom</code>. Blocks
                are <code>{% for %}</code> and <code>{% if %}</code>.
              `} />
          `
          : html`<p class="hint">The event's id, type, time and data, as JSON.</p>`
      }
    </div>
  `;
}

/** @param {Editing} props */
export function ScriptField({ draft, change }) {
  const scripts = useResource(withQuery('/api/scripts', { kind: 'sink', limit: 1000 }));
  /** @type {{id: string, name: string, owner: string}[]} */
  const rows = scripts.data?.scripts ?? [];
  const options = [
    { value: '', label: rows.length ? 'Choose a script' : 'No stored script of kind sink yet' },
    ...rows.map((row) => ({ value: row.id, label: row.owner === 'global' ? `${row.name} (global)` : row.name })),
  ];
  return html`
    <div class="stack">
      <${Segmented} label="Script" hideLabel=${false} value=${draft.stored ? 'stored' : 'own'}
        onInput=${(/** @type {string} */ value) => change({ stored: value === 'stored' })}
        options=${[{ value: 'own', label: 'Own source' }, { value: 'stored', label: 'A stored script' }]} />
      ${
        draft.stored &&
        html`
          <${ErrorNotice} error=${scripts.error} />
          <${Select} label="Stored script" value=${draft.scriptId}
            onInput=${(/** @type {string} */ scriptId) => change({ scriptId })} options=${options} required
            hint=${
              draft.scriptId
                ? html`<a href=${`/scripts/${draft.scriptId}`}>Open it</a>. Its changes reach every sink that uses it.`
                : html`Make one under <a href="/scripts/new">Scripts</a>.`
            } />
        `
      }
      ${
        !draft.stored &&
        html`
          <${CodeEditor} label="Script text" language="python" value=${draft.source}
            onInput=${(/** @type {string} */ source) => change({ source })} rows=${10}
            hint=${html`
              Python, run on the server for each event. The event is in <code>svc.event</code>
              ; <code>svc.api</code> calls methods.
            `} />
        `
      }
    </div>
  `;
}
