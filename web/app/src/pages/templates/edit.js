/** The dialog that creates or changes a template. */
import { api, at, withQuery } from '../../lib/api.js';
import { useStoredDraft } from '../../lib/draft.js';
import { hashOf } from '../../lib/hash.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button, IconButton } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { checkOf, draftOfCheck, HealthFields, NO_CHECK, StartupField } from '../spaces/fields.js';

/** @import { Template } from 'api' */

/** @typedef {{key: number, name: string, value: string}} Pair */

/** @param {Template | undefined} template */
function draftOf(template) {
  return {
    name: template?.name ?? '',
    script: template?.startup_script_id ?? '',
    check: draftOfCheck(template?.health_check ?? NO_CHECK),
    ports: pairsOf((template?.ports ?? []).map((one) => [one.name, String(one.port)])),
    fields: pairsOf(Object.entries(template?.custom_fields ?? {})),
  };
}

/** @param {[string, string][]} rows @returns {Pair[]} */
const pairsOf = (rows) => rows.map(([name, value], index) => ({ key: index + 1, name, value }));

/** A new row; its key differs from the keys of the other rows. @param {Pair[]} pairs @returns {Pair} */
const newPair = (pairs) => ({ key: Math.max(0, ...pairs.map((pair) => pair.key)) + 1, name: '', value: '' });

/**
 * The name of the stored draft. It has a hash of the settings of the template: a draft of older settings would undo the
 * changes of other users.
 * @param {Template | undefined} template
 */
const draftName = (template) =>
  template ? `template.${template.id}.${hashOf(JSON.stringify(draftOf(template)))}` : 'template-new';

/** @param {{record?: Template, onChanged: () => Promise<any>, onClose: () => void}} props no `record`: a new one */
export function EditTemplate({ record: template, onChanged, onClose }) {
  const scripts = useResource(withQuery('/api/scripts', { kind: 'startup', limit: 1000 })).data?.scripts ?? [];
  const [stored] = useState(() => draftName(template));
  const [draft, setDraft, forget] = useStoredDraft(stored, draftOf(template));
  const { name, script, check, ports, fields } = draft;
  const put = (/** @type {keyof typeof draft} */ member) => (/** @type {any} */ value) =>
    setDraft((old) => ({ ...old, [member]: value }));
  const close = () => {
    forget();
    onClose();
  };
  const submit = async () => {
    const body = {
      name: name.trim(),
      startup_script_id: script || null,
      health_check: check.type === 'none' ? null : checkOf(check),
      ports: named(ports).map((one) => ({ name: one.name.trim(), port: Number(one.value) })),
      custom_fields: fieldsOf(template, fields),
    };
    if (template) await api.patch(at('/api/templates/{id}', { id: template.id }), changesOf(template, body));
    else await api.post('/api/templates', body);
    forget();
    await onChanged();
    toast(template ? 'Template saved' : `Template ${body.name} created`);
    onClose();
  };
  return html`
    <${Dialog} title=${template ? `Edit ${template.name}` : 'New template'} onClose=${close}>
      <${Form} submit=${template ? 'Save template' : 'Create template'} onSubmit=${submit} onCancel=${close}>
        <${TextInput} label="Template name" required maxlength="64" autocomplete="off" value=${name}
          onInput=${put('name')} />
        <${Pairs} label="Ports" one="Port" pairs=${ports} onChange=${put('ports')} sample=${['http', '8080']} number />
        <${StartupField} scripts=${scripts} value=${script} onInput=${put('script')}
          hint="The agents of new spaces run it when they start." />
        <${HealthFields} check=${check} onChange=${put('check')} />
        <${Pairs} label="Custom fields" one="Field" pairs=${fields} onChange=${put('fields')}
          sample=${['team', 'blue']} />
      </${Form}>
    </${Dialog}>
  `;
}

/**
 * Only the settings that differ from the template, so that a save does not revert settings that another user changed
 * since the dialog was opened.
 * @param {Record<string, any>} template
 * @param {Record<string, any>} body
 */
function changesOf(template, body) {
  /** @type {Record<string, any>} */
  const was = { ...template, health_check: template.health_check?.type === 'none' ? null : template.health_check };
  const same = (/** @type {string} */ name) => textOf(was[name]) === textOf(body[name]);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !same(name)));
}

/** JSON with sorted members, so that equal values have equal texts. @param {any} value */
const textOf = (value) =>
  JSON.stringify(value, (_, one) =>
    one && typeof one === 'object' && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).sort()) : one,
  );

/** @param {Pair[]} pairs */
const named = (pairs) => pairs.filter((pair) => pair.name.trim());

/**
 * The custom fields of the request; a removed field of a stored template becomes null.
 * @param {Template | undefined} template
 * @param {Pair[]} pairs
 */
function fieldsOf(template, pairs) {
  const removed = Object.keys(template?.custom_fields ?? {}).map((name) => [name, null]);
  return Object.fromEntries([...removed, ...named(pairs).map((pair) => [pair.name.trim(), pair.value])]);
}

/**
 * Rows of a name and a value.
 * @param {{label: string, one: string, pairs: Pair[], onChange: (pairs: Pair[]) => void, sample: [string, string],
 *   number?: boolean}} props
 */
function Pairs({ label, one, pairs, onChange, sample, number = false }) {
  const set = (/** @type {number} */ key, /** @type {Partial<Pair>} */ part) =>
    onChange(pairs.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)));
  const limits = number ? { type: 'number', min: 1, max: 65_535 } : {};
  return html`
    <fieldset class="stack-small">
      <legend class="label">${label} <span class="label-optional">optional</span></legend>
      ${pairs.map(
        (pair, index) => html`
          <div key=${pair.key} class="pair-row">
            <${TextInput} label=${`${one} ${index + 1} name`} hideLabel mono placeholder=${sample[0]} autocomplete="off"
              value=${pair.name} onInput=${(/** @type {string} */ name) => set(pair.key, { name })} />
            <${TextInput} label=${`${one} ${index + 1} value`} hideLabel mono placeholder=${sample[1]} ...${limits}
              autocomplete="off" required=${number && pair.name.trim() !== ''} value=${pair.value}
              onInput=${(/** @type {string} */ value) => set(pair.key, { value })} />
            <${IconButton} icon="trash" label=${`Remove ${one.toLowerCase()} ${index + 1}`}
              onClick=${() => onChange(pairs.filter((other) => other.key !== pair.key))} />
          </div>
        `,
      )}
      <div>
        <${Button} size="small" icon="plus" onClick=${() => onChange([...pairs, newPair(pairs)])}>
          Add ${one.toLowerCase()}
        </${Button}>
      </div>
    </fieldset>
  `;
}
