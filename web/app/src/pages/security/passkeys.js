/** The passkeys of the signed-in user: add, rename, remove. */
import { api, at } from '../../lib/api.js';
import { addPasskey } from '../../lib/passkeys.js';
import { html, useState } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Time } from '../../ui/time.js';
import { RecoveryCodes } from './recovery-codes.js';
import { PasswordForm } from './setup-app.js';

/** @import { Passkey } from 'api' */

/** @param {{passkeys: Passkey[], canRemove: boolean, onDone: (message: string) => any}} props */
export function PasskeyList({ passkeys, canRemove, onDone }) {
  const [open, setOpen] = useState(/** @type {{what: 'rename' | 'remove', passkey: Passkey} | null} */ (null));
  const close = () => setOpen(null);
  const done = async (/** @type {string} */ message) => {
    close();
    await onDone(message);
  };
  return html`
    <ul class="stack-small" aria-label="Passkeys">
      ${passkeys.map(
        (passkey) => html`
          <li key=${passkey.id} class="row">
            <span class="anywhere">${passkey.name}</span>
            <span class="muted small">
              ${passkey.last_used_at ? html`used <${Time} value=${passkey.last_used_at} />` : 'not used yet'}
            </span>
            <${Button} aria-label=${`Rename ${passkey.name}`} onClick=${() => setOpen({ what: 'rename', passkey })}>
              Rename
            </${Button}>
            ${
              canRemove &&
              html`
                <${Button} aria-label=${`Remove ${passkey.name}`} onClick=${() => setOpen({ what: 'remove', passkey })}>
                  Remove
                </${Button}>
              `
            }
          </li>
        `,
      )}
    </ul>
    ${open?.what === 'rename' && html`<${Rename} passkey=${open.passkey} onDone=${done} onClose=${close} />`}
    ${open?.what === 'remove' && html`<${Remove} passkey=${open.passkey} onDone=${done} onClose=${close} />`}
  `;
}

/** @param {{passkey: Passkey, onDone: (message: string) => any, onClose: () => void}} props */
function Rename({ passkey, onDone, onClose }) {
  const [name, setName] = useState(passkey.name);
  const rename = async () => {
    await api.patch(at('/api/auth/passkeys/{id}', { id: passkey.id }), { name });
    await onDone('Passkey renamed');
  };
  return html`
    <${Dialog} title="Rename the passkey" onClose=${onClose}>
      <${Form} submit="Rename" onSubmit=${rename} onCancel=${onClose}>
        <${NameInput} value=${name} onInput=${setName} />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{passkey: Passkey, onDone: (message: string) => any, onClose: () => void}} props */
function Remove({ passkey, onDone, onClose }) {
  const remove = async (/** @type {string} */ password) => {
    await api.post(at('/api/auth/passkeys/{id}/remove', { id: passkey.id }), { password });
    await onDone('Passkey removed');
  };
  return html`
    <${Dialog} title="Remove the passkey?" onClose=${onClose}>
      <${PasswordForm} submit="Remove" kind="danger" onPassword=${remove} onCancel=${onClose}>
        <p>“${passkey.name}” does not sign you in any more. Delete it on its device too.</p>
      </${PasswordForm}>
    </${Dialog}>
  `;
}

/**
 * Adds a passkey: name and password, the browser's own dialog, recovery codes.
 * @param {{onDone: () => any, onCancel?: () => void}} props `onDone` is called at the end, after any new recovery
 *   codes were shown
 */
export function SetupPasskey({ onDone, onCancel }) {
  const [name, setName] = useState('');
  const [codes, setCodes] = useState(/** @type {string[] | null} */ (null));
  if (codes) return html`<${RecoveryCodes} codes=${codes} onDone=${onDone} />`;
  const add = async (/** @type {string} */ password) => {
    const added = await addPasskey(password, name);
    if (added.recovery_codes.length) setCodes(added.recovery_codes);
    else await onDone();
  };
  return html`
    <${PasswordForm} submit="Add the passkey" onPassword=${add} onCancel=${onCancel}>
      <p>Your browser asks for a fingerprint, a PIN or a security key.</p>
      <${NameInput} value=${name} onInput=${setName} />
    </${PasswordForm}>
  `;
}

/** @param {{value: string, onInput: (text: string) => void}} props */
function NameInput({ value, onInput }) {
  return html`
    <${TextInput} label="Name of the passkey" hint="So that you recognise it, such as “Work laptop”." value=${value}
      onInput=${onInput} maxlength="60" required />
  `;
}
