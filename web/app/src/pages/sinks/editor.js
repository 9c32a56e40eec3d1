/** The editor of a sink: fields and preview. */
import { can } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { Notice } from '../../ui/error-notice.js';
import { Checkbox, Segmented, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { patternProblem, patternsOf } from '../events/patterns.js';
import { HeadersField, PatternsField, ScriptField, TemplateField } from './fields.js';
import { TYPE_NAMES } from './health.js';
import { PreviewCard, usePreview } from './preview.js';
import { useSample } from './sample.js';

/** @typedef {import('./draft.js').Draft} Draft */

const ABOUT = {
  webhook: 'Posts each event to a URL, signed. Failed deliveries are retried.',
  script: 'Runs a Python script on the server for each event. Python need not be installed.',
  'json-rpc': 'Formats events for your methods that name it in event_sinks. It has no receivers of its own.',
};

/**
 * @param {object} props
 * @param {Draft} props.draft
 * @param {(part: Partial<Draft>) => void} props.change
 * @param {() => Promise<any>} props.onSubmit
 * @param {string} props.submit
 * @param {(() => void) | undefined} [props.onDiscard] if there are changes
 * @param {boolean} [props.disabled]
 * @param {boolean} [props.isNew] type and owner can be chosen only for a new sink
 * @param {boolean} [props.moved] the URL has another origin than the stored one
 */
export function SinkEditor({ draft, change, onSubmit, submit, onDiscard, disabled, isNew = false, moved = false }) {
  const [sample, changeSample] = useSample();
  const preview = usePreview(draft, sample);
  const patterns = patternsOf(draft.patterns);
  const incomplete =
    !draft.name.trim() ||
    patterns.length === 0 ||
    patternProblem(patterns) !== '' ||
    (draft.type === 'webhook' && !draft.url.trim()) ||
    (draft.type === 'script' && draft.stored && !draft.scriptId);
  const editing = { draft, change };
  return html`
    <div class="sink-editor">
      <${Form} submit=${submit} onSubmit=${onSubmit} disabled=${disabled || incomplete}
        more=${onDiscard && html`<${Button} kind="ghost" onClick=${onDiscard}>Discard changes</${Button}>`}>
        <${Card} title="Sink">
          <div class="stack">
            <${TextInput} label="Name" mono required maxlength="64" autocomplete="off" value=${draft.name}
              onInput=${(/** @type {string} */ name) => change({ name })} />
            <${TextInput} label="Description" optional autocomplete="off" maxlength="1000" value=${draft.description}
              onInput=${(/** @type {string} */ description) => change({ description })} />
            ${isNew && html`<${NewFields} ...${editing} />`}
            <${PatternsField} ...${editing} />
          </div>
        </${Card}>
        <${Card} title=${TYPE_NAMES[draft.type]} description=${ABOUT[draft.type]}>
          <div class="stack">
            ${
              draft.type === 'webhook' &&
              html`
                <${TextInput} label="URL" type="url" mono required placeholder="https://example.org/hook"
                  autocomplete="off" value=${draft.url} onInput=${(/** @type {string} */ url) => change({ url })} />
              `
            }
            ${
              moved &&
              html`
                <${Notice} tone="warn" icon="key">
                  <p>
                    The new URL has another origin. Stored secrets stay with the old receiver: enter the values of all
                    headers again, or remove the headers.
                  </p>
                </${Notice}>
              `
            }
            ${draft.type === 'webhook' && html`<${HeadersField} ...${editing} />`}
            ${
              draft.type !== 'script' &&
              html`
                <${TemplateField} ...${editing}
                  error=${preview.error?.code === 'invalid_template' ? preview.error : null} />
              `
            }
            ${draft.type === 'script' && html`<${ScriptField} ...${editing} />`}
            ${
              draft.type === 'webhook' &&
              html`
                <${Checkbox} label="Keep requests and responses" checked=${draft.keepExchanges}
                  onChange=${(/** @type {boolean} */ keepExchanges) => change({ keepExchanges })}
                  hint="Stored with each attempt. The stored bytes count towards the quota of event bytes." />
              `
            }
            ${
              (isNew || moved) &&
              draft.type === 'webhook' &&
              html`
                <${TextInput} label="Signing secret" optional mono autocomplete="off" placeholder="whsec_…"
                  value=${draft.secret} onInput=${(/** @type {string} */ secret) => change({ secret })}
                  hint="If empty, the server creates one and shows it once." />
              `
            }
          </div>
        </${Card}>
      </${Form}>
      <${PreviewCard} draft=${draft} preview=${preview} sample=${sample} changeSample=${changeSample} />
    </div>
  `;
}

/** @param {{draft: Draft, change: (part: Partial<Draft>) => void}} props */
function NewFields({ draft, change }) {
  return html`
    <${Segmented} label="Type" hideLabel=${false} value=${draft.type}
      onInput=${(/** @type {any} */ type) => change({ type })}
      options=${Object.entries(TYPE_NAMES).map(([value, label]) => ({ value, label }))} />
    ${
      can('manage_global_event_sinks') &&
      html`
        <${Segmented} label="Takes events of" hideLabel=${false} value=${draft.owner}
          onInput=${(/** @type {any} */ owner) => change({ owner })}
          options=${[{ value: 'user', label: 'Mine only' }, { value: 'global', label: 'Everyone (global)' }]} />
      `
    }
    <${Checkbox} label="Active" checked=${draft.active}
      onChange=${(/** @type {boolean} */ active) => change({ active })} hint="An inactive sink takes no new events." />
  `;
}
