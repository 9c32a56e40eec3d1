/** The form of a new app, and its client id and secret afterwards. */

import { api } from '../../lib/api.js';
import { Refusal } from '../../lib/errors.js';
import { html, useState } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Checkbox, Textarea, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { SecretDialog } from '../../ui/secret-once.js';

/** @import { App } from 'api' */

/** @param {{onClose: () => void, onCreated: (app: App) => void}} props */
export function NewAppDialog({ onClose, onCreated }) {
  const [name, setName] = useState('');
  const [addresses, setAddresses] = useState('');
  const [confidential, setConfidential] = useState(false);
  const submit = async () => {
    const redirect_uris = addressesOf(addresses);
    if (redirect_uris.length === 0) throw new Refusal('Enter at least one return address.');
    onCreated(await api.post('/api/oauth/clients', { name: name.trim(), redirect_uris, confidential }));
  };
  return html`
    <${Dialog} title="Add app" onClose=${onClose}>
      <${Form} submit="Add app" onSubmit=${submit} onCancel=${onClose}>
        <${TextInput} label="Name" value=${name} onInput=${setName} hint="Users see it when the app asks to connect."
          placeholder="Dashboard" autocomplete="off" maxlength="64" required />
        <${Textarea} label="Return addresses" mono rows=${3} value=${addresses} onInput=${setAddresses} required
          placeholder="https://dash.example.com/callback" hint="One per line, exactly as the app sends them." />
        <${Checkbox} label="The app keeps a secret" checked=${confidential} onChange=${setConfidential}
          hint="For apps that run on a server of their own. Programs on users' machines cannot keep a secret." />
      </${Form}>
    </${Dialog}>
  `;
}

/** The addresses in a text with one per line. @param {string} text */
export const addressesOf = (text) => [
  ...new Set(
    text
      .split(/\s+/)
      .map((line) => line.trim())
      .filter(Boolean),
  ),
];

/** @param {{record: App, onClose: () => void}} props */
export function CreatedDialog({ record: app, onClose }) {
  const id = html`
    <div class="stack-small">
      <p class="muted">The client id, which is not a secret:</p>
      <${CodeBlock} text=${app.client_id} label="client id" wrap />
    </div>
  `;
  if (app.secret)
    return html`
      <${SecretDialog} title=${`App ${app.name}`} secret=${app.secret} label="secret" onClose=${onClose}>
        ${id}
      </${SecretDialog}>
    `;
  return html`
    <${Dialog} title=${`App ${app.name}`} onClose=${onClose} wide
      footer=${html`<${Button} kind="primary" onClick=${onClose}>Done</${Button}>`}>
      ${id}
    </${Dialog}>
  `;
}
