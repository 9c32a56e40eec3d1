/** Dialogs to create and rename a role. */
import { api, at } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { Dialog } from '../../ui/dialog.js';
import { Checkbox, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { Choice, NameHint } from '../users/fields.js';
import { MEANING } from './permissions.js';

/** @import { Role } from 'api' */

/** @param {{permissions: string[], onDone: () => Promise<void>, onClose: () => void}} props */
export function NewRole({ permissions, onDone, onClose }) {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const [strict, setStrict] = useState(false);
  const submit = async () => {
    const body = { name: name.trim(), permissions: chosen, require_second_factor: strict };
    const role = await api.post('/api/roles', body);
    await onDone();
    toast(`Role ${role.name} created`);
    onClose();
  };
  return html`
    <${Dialog} title="New role" onClose=${onClose} wide>
      <${Form} submit="Create role" onSubmit=${submit} onCancel=${onClose}>
        <${NameField} value=${name} onInput=${setName} />
        <${Choice} label="Permissions" names=${permissions} chosen=${chosen} onChange=${setChosen} hints=${MEANING}
          none="The server names no permissions." />
        <${Checkbox} label="Requires a second factor" checked=${strict} onChange=${setStrict}
          hint="For logins with the password. Tokens need no second factor." />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{role: Role, onDone: () => Promise<void>, onClose: () => void}} props */
export function RenameRole({ role, onDone, onClose }) {
  const [name, setName] = useState(role.name);
  const submit = async () => {
    await api.patch(at('/api/roles/{id}', { id: role.id }), { name: name.trim() });
    await onDone();
    toast('Role renamed');
    onClose();
  };
  return html`
    <${Dialog} title=${`Rename ${role.name}`} onClose=${onClose}>
      <${Form} submit="Rename role" onSubmit=${submit} onCancel=${onClose}>
        <${NameField} value=${name} onInput=${setName} />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{value: string, onInput: (text: string) => void}} props */
function NameField({ value, onInput }) {
  return html`
    <${TextInput} label="Role name" mono required maxlength="64" value=${value} onInput=${onInput} autocomplete="off"
      hint=${html`<${NameHint} />`} />
  `;
}
