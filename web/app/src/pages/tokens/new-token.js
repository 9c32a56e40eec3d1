/** The form of a new token. */

import { api } from '../../lib/api.js';
import { Refusal } from '../../lib/errors.js';
import { html, useState } from '../../lib/preact.js';
import { Dialog } from '../../ui/dialog.js';
import { Checkbox, Segmented, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { ExpiryFields, useExpiry } from './expiry.js';

/** The description of each scope, in the order of the documentation. */
const SCOPES = [
  { name: 'methods', opens: 'List methods and call them.' },
  { name: 'mcp', opens: 'The MCP endpoint, for MCP clients.' },
];

/** @param {{onClose: () => void, onCreated: (token: any) => void}} props */
export function NewTokenDialog({ onClose, onCreated }) {
  const [name, setName] = useState('');
  const [access, setAccess] = useState('scopes');
  const [scopes, setScopes] = useState(['methods']);
  const expiry = useExpiry();
  const submit = async () => {
    if (access === 'scopes' && scopes.length === 0)
      throw new Refusal('Choose at least one scope, or let the token reach everything.');
    const body = { name: name.trim(), scopes: access === 'scopes' ? scopes : [], expires_in_days: expiry.days() };
    onCreated(await api.post('/api/tokens', body));
  };
  return html`
    <${Dialog} title="New token" onClose=${onClose}>
      <${Form} submit="Create token" onSubmit=${submit} onCancel=${onClose}>
        <${TextInput} label="Name" value=${name} onInput=${setName} hint="The program that will use it."
          placeholder="ci" autocomplete="off" maxlength="64" required />
        <div class="stack-small">
          <${Segmented} label="Reaches" hideLabel=${false} value=${access} onInput=${setAccess}
            options=${[{ value: 'scopes', label: 'Chosen scopes' }, { value: 'all', label: 'All you may do' }]} />
          ${
            access === 'all'
              ? html`<p class="hint">All your permissions, now and later. Prefer scopes where they are enough.</p>`
              : SCOPES.map(
                  ({ name: scope, opens }) => html`
                    <${Checkbox} key=${scope} label=${html`<span class="mono">${scope}</span>`} hint=${opens}
                      checked=${scopes.includes(scope)}
                      onChange=${(/** @type {boolean} */ on) => setScopes(toggleScope(scopes, scope, on))} />
                  `,
                )
          }
        </div>
        <${ExpiryFields} expiry=${expiry} />
      </${Form}>
    </${Dialog}>
  `;
}

/**
 * Adds or removes a scope, in the order of `SCOPES`.
 * @param {string[]} chosen
 * @param {string} scope
 * @param {boolean} on
 */
function toggleScope(chosen, scope, on) {
  return SCOPES.map(({ name }) => name).filter((name) => (name === scope ? on : chosen.includes(name)));
}
