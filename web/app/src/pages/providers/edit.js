/** The form of a new or an existing provider. */
import { api, at } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Checkbox, Textarea, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { formatMappings, formatRequired, parseMappings, parseRequired } from './text.js';

/** @import { OidcProvider } from 'api' */

/** @param {{record?: OidcProvider, onChanged: () => Promise<any>, onClose: () => void}} props */
export function ProviderDialog({ record: provider, onChanged, onClose }) {
  const [fields, setFields] = useState(() => initial(provider));
  const set = (/** @type {keyof typeof fields} */ key) => (/** @type {any} */ value) =>
    setFields((before) => ({ ...before, [key]: value }));
  const submit = async () => {
    const body = {
      label: fields.label.trim() || fields.name.trim(),
      client_id: fields.client_id.trim(),
      enabled: fields.enabled,
      scopes: fields.scopes.split(/\s+/).filter(Boolean),
      create_users: fields.create_users,
      required_claims: parseRequired(fields.required),
      groups_claim: fields.groups_claim.trim() || null,
      mappings: parseMappings(fields.mappings),
      ...(fields.secret && { client_secret: fields.secret }),
    };
    if (provider) await api.patch(at('/api/oidc/providers/{id}', { id: provider.id }), body);
    else await api.post('/api/oidc/providers', { ...body, name: fields.name.trim(), issuer: fields.issuer.trim() });
    toast(`${body.label} saved`);
    onClose();
    await onChanged();
  };
  const name = fields.name.trim();
  return html`
    <${Dialog} title=${provider ? `Provider ${provider.label}` : 'Add provider'} onClose=${onClose} wide>
      <${Form} submit=${provider ? 'Save changes' : 'Add provider'} onSubmit=${submit} onCancel=${onClose}>
        ${
          !provider &&
          html`
            <${TextInput} label="Name" value=${fields.name} onInput=${set('name')} placeholder="corp" maxlength="20"
              autocomplete="off" required
              hint="Part of this server's URLs for the provider: lower-case letters, digits and hyphens." />
            <${TextInput} label="Issuer" value=${fields.issuer} onInput=${set('issuer')} type="url"
              placeholder="https://id.example.com/realms/corp" autocomplete="off" required
              hint="Exactly as the provider writes it. If it ends with a slash, keep the slash." />
          `
        }
        ${
          name &&
          html`
            <div class="stack-small">
              <p class="muted small">Give the provider this redirect address:</p>
              <${CodeBlock} text=${`${location.origin}/api/auth/oidc/${name}/callback`} label="redirect address" wrap />
            </div>
          `
        }
        <${TextInput} label="Button text" value=${fields.label} onInput=${set('label')} placeholder="Corp account"
          autocomplete="off" maxlength="64" optional />
        <${TextInput} label="Client id" value=${fields.client_id} onInput=${set('client_id')} autocomplete="off"
          required />
        <${TextInput} label="Client secret" type="password" value=${fields.secret} onInput=${set('secret')}
          autocomplete="new-password" optional
          hint=${provider?.has_secret ? 'Leave empty to keep the secret.' : 'Empty for a public client.'} />
        <${TextInput} label="Scopes" value=${fields.scopes} onInput=${set('scopes')} autocomplete="off" required />
        <${Checkbox} label="Create users at their first sign-in" checked=${fields.create_users}
          onChange=${set('create_users')} hint="Only accounts with the required claims get a user." />
        <${Textarea} label="Required claims" mono rows=${2} value=${fields.required} onInput=${set('required')}
          placeholder="groups=staff" optional
          hint="One per line. For several values of a claim, one of them is enough." />
        <${TextInput} label="Groups claim" value=${fields.groups_claim} onInput=${set('groups_claim')}
          placeholder="groups" autocomplete="off" optional
          hint="The name of the claim, or a path such as realm_access.roles." />
        <${Textarea} label="Groups and roles" mono rows=${3} value=${fields.mappings} onInput=${set('mappings')}
          placeholder="svc-admins=role:admin" optional
          hint="One per line: the provider's value, and a group or a role here." />
        <${Checkbox} label="Users may sign in with this provider" checked=${fields.enabled}
          onChange=${set('enabled')} />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {OidcProvider | undefined} provider */
const initial = (provider) => ({
  name: provider?.name ?? '',
  issuer: provider?.issuer ?? '',
  label: provider?.label ?? '',
  client_id: provider?.client_id ?? '',
  secret: '',
  scopes: provider?.scopes.join(' ') ?? 'openid profile email',
  enabled: provider?.enabled ?? true,
  create_users: provider?.create_users ?? false,
  required: formatRequired(provider?.required_claims ?? {}),
  groups_claim: provider?.groups_claim ?? '',
  mappings: formatMappings(provider?.mappings ?? []),
});
