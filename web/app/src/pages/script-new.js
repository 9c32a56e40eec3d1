/** A new script. */
import { api } from '../lib/api.js';
import { useStoredDraft } from '../lib/draft.js';
import { parseJson, prettyJson } from '../lib/json.js';
import { can } from '../lib/me.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { navigate, useQuery } from '../router.js';
import { Card, PageHeader } from '../ui/card.js';
import { Checkbox } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { withCode } from '../ui/rich-text.js';
import { toast } from '../ui/toasts.js';
import { bodyOf } from './scripts/draft.js';
import { NameFields, SchemaField, SourceField, ToolFields } from './scripts/editor.js';
import { faultOf, isRunnable, KINDS, STARTER_SCHEMA } from './scripts/kinds.js';
import { useLint } from './scripts/lint.js';
import { TestRun } from './scripts/test-run.js';

/** @import { ScriptKind } from 'api' */

await loadStyles('scripts.css');

/** @param {ScriptKind} kind @returns {import('./scripts/draft.js').Draft} */
const starterOf = (kind) => ({
  name: '',
  description: '',
  source: KINDS[kind].starter,
  schema: kind === 'tool' ? prettyJson(STARTER_SCHEMA) : '',
  title: '',
  hints: {},
});

export default function NewScriptPage() {
  const query = useQuery();
  const kind = /** @type {ScriptKind} */ (Object.hasOwn(KINDS, query.get('kind')) ? query.get('kind') : 'tool');
  const [draft, setDraft, forget] = useStoredDraft(`script-new.${kind}`, starterOf(kind));
  const [isGlobal, setIsGlobal] = useState(false);
  const [fault, setFault] = useState(/** @type {import('./scripts/kinds.js').SourceFault | null} */ (null));
  const [made, setMade] = useState('');
  useEffect(() => void (made && navigate(`/scripts/${made}`)), [made]);

  const change = (/** @type {Partial<typeof draft>} */ part) => {
    setDraft((old) => ({ ...old, ...part }));
    if (part.source !== undefined) setFault(null);
  };
  const choose = (/** @type {ScriptKind} */ next) => {
    query.set({ kind: next });
    // A changed text stays; an untouched starter text is replaced.
    setDraft((old) =>
      old.source === KINDS[kind].starter ? { ...starterOf(next), name: old.name, description: old.description } : old,
    );
  };
  const typed = useLint(draft.source, draft.source !== KINDS[kind].starter);
  const [name, owner, schema] = [draft.name.trim(), isGlobal ? 'global' : 'user', useSchema(draft.schema)];
  const submit = async () => {
    setFault(null);
    try {
      const script = await api.post('/api/scripts', bodyOf(draft, kind, { more: { kind, owner } }));
      forget();
      toast('Script created');
      setMade(script.id);
    } catch (error) {
      setFault(faultOf(error));
      throw error;
    }
  };
  return html`
    <${PageHeader} title="New script" back=${{ href: '/scripts', label: 'Scripts' }}
      description="The server checks a script when it is stored, and rejects unsupported code with the line number." />
    <div class=${isRunnable(kind) ? 'script-panes' : 'stack-large'}>
      <${Card}>
        <${Form} submit="Create script" onSubmit=${submit} onCancel=${() => navigate('/scripts')}>
          <${KindChoice} value=${kind} onInput=${choose} />
          <div class="script-fields"><${NameFields} draft=${draft} onChange=${change} /></div>
          ${
            can('manage_scripts') &&
            html`
              <${Checkbox} label="Global" checked=${isGlobal} onChange=${setIsGlobal}
                hint="All users may use the script. It can import only global libraries. This choice is final." />
            `
          }
          <${SourceField} draft=${draft} onChange=${change} fault=${fault ?? typed} />
          ${
            kind === 'tool' &&
            html`
              <div class="script-fields"><${ToolFields} draft=${draft} onChange=${change} /></div>
              <${SchemaField} draft=${draft} onChange=${change} />
            `
          }
        </${Form}>
      </${Card}>
      ${
        isRunnable(kind) &&
        html`
          <${TestRun} key=${kind} kind=${kind} name=${name || 'draft'} schema=${schema} path="/api/scripts/run"
            body=${{ kind, owner, source: draft.source, ...(name && { name }) }} action="Run"
            about="Nothing is stored." onFault=${setFault} />
        `
      }
    </div>
  `;
}

/** The schema of the draft; while its text is not valid JSON, the last valid one. @param {string} text */
function useSchema(text) {
  const valid = useRef(/** @type {any} */ (null));
  const parsed = parseJson(text.trim() || 'null');
  if (parsed.ok) valid.current = parsed.value;
  return valid.current;
}

/** @param {{value: ScriptKind, onInput: (kind: ScriptKind) => void}} props */
function KindChoice({ value, onInput }) {
  return html`
    <fieldset>
      <legend class="label kind-name">Kind</legend>
      <div class="kind-choice">
        ${
          /** @type {[ScriptKind, typeof KINDS['tool']][]} */ (Object.entries(KINDS)).map(
            ([kind, { label, about }]) => html`
              <label key=${kind} class="kind-option">
                <input type="radio" name="kind" value=${kind} checked=${kind === value} aria-label=${label}
                  aria-describedby=${`kind-${kind}`} onChange=${() => onInput(kind)} />
                <span class="strong">${label}</span>
                <span class="kind-about" id=${`kind-${kind}`}>${withCode(about)}</span>
              </label>
            `,
          )
        }
      </div>
    </fieldset>
  `;
}
