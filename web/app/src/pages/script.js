/** One script: its source and a test run. */
import { useAction } from '../lib/action.js';
import { api, at } from '../lib/api.js';
import { useStoredDraft } from '../lib/draft.js';
import { can } from '../lib/me.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useDocumentTitle } from '../page-host.js';
import { navigate, useUnsaved } from '../router.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, KeyValue, PageHeader } from '../ui/card.js';
import { CodeBlock } from '../ui/code-block.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { ErrorNotice, Notice, pendingOf } from '../ui/error-notice.js';
import { Form } from '../ui/form.js';
import { withCode } from '../ui/rich-text.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toasts.js';
import { bodyOf, draftOf, sameDraft } from './scripts/draft.js';
import { NameFields, SchemaField, SourceField, ToolFields } from './scripts/editor.js';
import { faultOf, isRunnable, KINDS } from './scripts/kinds.js';
import { useLint } from './scripts/lint.js';
import { TestRun } from './scripts/test-run.js';
import { UsedBy } from './scripts/used-by.js';

/** @import { Script } from 'api' */
/** @import { Address } from 'requests' */

await loadStyles('scripts.css');

/** @typedef {import('./scripts/draft.js').Draft} Draft */

const BACK = { href: '/scripts', label: 'Scripts' };

/** @param {{route: import('../routes.js').Route}} props */
export default function ScriptPage({ route }) {
  const path = at('/api/scripts/{id}', { id: route.params.id });
  const script = useResource((signal) => api.get(path, {}, { signal, exact: true }), { every: 10_000, deps: [path] });
  return (
    pendingOf(script, { page: true, back: BACK }) ??
    html`<${Editor} key=${path} path=${path} script=${script.data} stale=${script.error} onSaved=${script.set} />`
  );
}

/** @typedef {Address<'/api/scripts/{id}'>} Path */

/**
 * @param {{path: Path, script: Script, stale: any, onSaved: (script: Script) => void}} props `stale`: why the data
 *   may be outdated
 */
function Editor({ path, script, stale, onSaved }) {
  const mayEdit = script.owner === 'user' || can('manage_scripts');
  const edit = useDraft(script);
  const [fault, setFault] = useState(/** @type {import('./scripts/kinds.js').SourceFault | null} */ (null));
  const [gone, setGone] = useState(false);
  useDocumentTitle(script.name);
  useUnsaved(edit.dirty && !gone, { stored: true });
  useEffect(() => void (gone && navigate('/scripts')), [gone]);

  const change = (/** @type {Partial<Draft>} */ part) => {
    edit.change(part);
    if (part.source !== undefined) setFault(null);
  };
  const runsDraft = edit.dirty && mayEdit;
  const typed = useLint(edit.draft.source, mayEdit && edit.dirty);
  const store = async () => {
    setFault(null);
    try {
      const saved = await api.patch(path, bodyOf(edit.draft, script.kind, { before: edit.before }), { exact: true });
      edit.accept(saved);
      onSaved(saved);
    } catch (error) {
      setFault(faultOf(error));
      throw error;
    }
  };
  const save = useAction(async () => {
    await store();
    toast('Script saved');
  });
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (!mayEdit || event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void save.run();
  };
  return html`
    <${Head} script=${script} path=${path} mayEdit=${mayEdit} onGone=${() => setGone(true)} />
    <div class=${isRunnable(script.kind) ? 'script-panes' : 'stack-large'} onKeyDown=${onKey}>
      <${Card} title="Script" actions=${mayEdit && html`<${SaveState} edit=${edit} />`}>
        <${ScriptForm} mayEdit=${mayEdit} save=${save} edit=${edit} onDiscard=${() => edit.discard(script)}>
          <${ErrorNotice} error=${stale} />
          ${edit.theirs && html`<${ConflictNotice} edit=${edit} />`}
          <${SourceField} draft=${edit.draft} onChange=${change} fault=${fault ?? typed} readOnly=${!mayEdit}
            onSubmit=${mayEdit ? save.run : undefined} hint=${mayEdit ? 'Ctrl+S saves.' : ''} />
          <div class="script-fields"><${NameFields} draft=${edit.draft} onChange=${change} readOnly=${!mayEdit} /></div>
          ${
            script.kind === 'tool' &&
            html`
              <div class="script-fields">
                <${ToolFields} draft=${edit.draft} onChange=${change} readOnly=${!mayEdit} />
              </div>
              <${SchemaField} draft=${edit.draft} onChange=${change} readOnly=${!mayEdit} />
            `
          }
        </${ScriptForm}>
      </${Card}>
      <div class="stack-large">
        ${
          isRunnable(script.kind) &&
          html`
            <${TestRun} kind=${script.kind} name=${script.name} schema=${script.params_schema} path=${`${path}/run`}
              body=${runsDraft ? { source: edit.draft.source } : {}} action=${runsDraft ? 'Run draft' : 'Run'}
              about=${runsDraft ? 'Your unsaved draft runs; the stored script stays as it is.' : ''}
              onFault=${setFault} />
          `
        }
        <${About} script=${script} />
      </div>
    </div>
  `;
}

/**
 * The copy of the stored script that the user edits. If another version is saved elsewhere and the user has changed
 * nothing, that version replaces the copy. If the user has changed the copy, that version is returned as `theirs`.
 * @param {Script} script
 */
function useDraft(script) {
  const [draft, setDraft, forget] = useStoredDraft(`script.${script.id}`, draftOf(script));
  const base = useRef(draftOf(script));
  const dirty = !sameDraft(draft, base.current);
  const stored = draftOf(script);
  const moved = !sameDraft(stored, base.current);
  useEffect(() => {
    if (!moved || dirty) return;
    base.current = stored;
    setDraft(stored);
    forget(stored);
  }, [moved, dirty, script]);
  const discard = (/** @type {Script} */ to) => {
    base.current = draftOf(to);
    setDraft(base.current);
    forget(base.current);
  };
  return {
    draft,
    before: base.current,
    dirty,
    theirs: moved && dirty ? script : null,
    change: (/** @type {Partial<Draft>} */ part) => setDraft((old) => ({ ...old, ...part })),
    accept: discard,
    discard,
  };
}

/**
 * A form, or only its fields for a user who may not change the script.
 * @param {{mayEdit: boolean, save: any, edit: ReturnType<typeof useDraft>, onDiscard: () => void, children?: any}}
 *   props
 */
function ScriptForm({ mayEdit, save, edit, onDiscard, children }) {
  if (!mayEdit) return html`<div class="form">${children}</div>`;
  return html`
    <${Form} submit="Save" action=${save} disabled=${!edit.dirty} sticky
      more=${edit.dirty && html`<${Button} onClick=${onDiscard}>Discard changes</${Button}>`}>
      ${children}
    </${Form}>
  `;
}

/** @param {{edit: ReturnType<typeof useDraft>}} props */
function SaveState({ edit }) {
  return html`<span class="muted small" role="status">${edit.dirty ? 'Unsaved changes' : 'Saved'}</span>`;
}

/** @param {{edit: ReturnType<typeof useDraft>}} props */
function ConflictNotice({ edit }) {
  const theirs = /** @type {Script} */ (edit.theirs);
  return html`
    <${Notice} tone="warn" icon="alert" title="Changed elsewhere"
      actions=${html`<${Button} size="small" onClick=${() => edit.discard(theirs)}>Take that version</${Button}>`}>
      <p>Another version was saved <${Time} value=${theirs.updated_at} />. Saving your draft replaces that version.</p>
    </${Notice}>
  `;
}

/** @param {{script: Script, path: Path, mayEdit: boolean, onGone: () => void}} props */
function Head({ script, path, mayEdit, onGone }) {
  const [asking, setAsking] = useState(false);
  const remove = async () => {
    await api.del(path);
    toast('Script deleted');
    onGone();
  };
  return html`
    <${PageHeader} title=${script.name} mono back=${BACK} description=${script.description}
      actions=${mayEdit && html`<${Button} icon="trash" onClick=${() => setAsking(true)}>Delete</${Button}>`}>
      <${Badge} tone=${script.kind === 'tool' ? 'accent' : 'neutral'}>
        ${KINDS[script.kind]?.label ?? script.kind}
      </${Badge}>
      ${script.owner === 'global' && html`<${Badge}>global</${Badge}>`}
      ${!mayEdit && html`<${Badge} title="Changing a global script needs manage_scripts">read only</${Badge}>`}
    </${PageHeader}>
    ${
      asking &&
      html`
        <${ConfirmDialog} title="Delete this script?" action="Delete script" onConfirm=${remove}
          onClose=${() => setAsking(false)}>
          <p>
            <span class="mono">${script.name}</span> cannot be restored. The server rejects the deletion while a sink, a
            space or a template uses it.
          </p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {{script: Script}} props */
function About({ script }) {
  const kind = KINDS[script.kind];
  return html`
    <${Card} title="About">
      <div class="stack">
        ${
          kind &&
          html`
            <p class="muted">${withCode(kind.about)}</p>
            <${CodeBlock} text=${kind.use(script.name)} label="how to use it"
              language=${script.kind === 'library' ? 'python' : undefined} prompt=${script.kind !== 'library'} />
          `
        }
        <${KeyValue}
          items=${[
            ['Owner', script.owner === 'global' ? 'all users (global)' : 'you'],
            script.kind !== 'tool' && ['Used by', html`<${UsedBy} script=${script} />`],
            ['Created', html`<${Time} value=${script.created_at} exact />`],
            ['Changed', html`<${Time} value=${script.updated_at} />`],
            ['Id', html`<span class="mono small">${script.id}</span>`],
          ]} />
      </div>
    </${Card}>
  `;
}
