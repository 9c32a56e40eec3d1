/** The accounts at OpenID Connect providers with which a user signs in. */
import { api, at, withQuery } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog, Dialog } from '../../ui/dialog.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Select, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { RecordList } from '../../ui/record-page.js';
import { buttonColumn } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { PasswordForm } from '../security/setup-app.js';

/** @import { LinkedIdentity, SignInOption } from 'api' */

/**
 * Shown only if the server has a provider, or the user a linked account.
 * @param {{user?: {id: string, username: string}}} props without `user`, the card shows the signed-in user
 */
export function IdentitiesCard({ user }) {
  const linked = useResource(withQuery('/api/auth/identities', { user: user?.id }));
  const options = useResource('/api/auth/oidc');
  const [linking, setLinking] = useState(false);
  const [ending, setEnding] = useState(/** @type {LinkedIdentity | null} */ (null));
  const providers = options.data?.providers ?? [];
  const rows = linked.data?.identities ?? [];
  if (providers.length === 0 && rows.length === 0) return null;
  const unlinked = async (/** @type {LinkedIdentity} */ one) => {
    await linked.reload();
    toast(`Account at ${one.provider} unlinked`);
  };
  const add =
    !user && providers.length > 0 && linked.data
      ? html`<${Button} icon="plus" onClick=${() => setLinking(true)}>Link an account</${Button}>`
      : null;
  return html`
    <${RecordList} list=${linked} title="Linked accounts" id="identities" actions=${add} label="Linked accounts"
      description=${`Accounts at providers with which ${user ? user.username : 'you'} can sign in.`}
      columns=${columns(setEnding)} rows=${rows}
      empty=${html`
        <${EmptyState} icon="key" title="No linked account">
          ${user ? `${user.username} signs in with a password.` : 'You sign in with your password.'}
        </${EmptyState}>
      `} />
    ${
      linking &&
      html`
        <${LinkDialog} providers=${providers} hasPassword=${linked.data?.has_password}
          onClose=${() => setLinking(false)} />
      `
    }
    ${
      ending &&
      html`
        <${UnlinkDialog} account=${ending} user=${user} hasPassword=${linked.data?.has_password}
          onDone=${() => unlinked(ending)} onClose=${() => setEnding(null)} />
      `
    }
  `;
}

/**
 * Asks for the password if the account belongs to the signed-in user. If this user has no password, the server requires
 * a recent sign-in with a provider, and its error says so.
 * @param {{account: LinkedIdentity, user?: {username: string}, hasPassword: boolean, onDone: () => Promise<any>,
 *   onClose: () => void}} props
 */
function UnlinkDialog({ account, user, hasPassword, onDone, onClose }) {
  const { id } = account;
  const remove = at('/api/auth/identities/{id}/remove', { id });
  const text = html`
    <p>
      ${user ? user.username : 'You'} can no longer sign in with the account at
      <strong> ${account.provider}</strong>.
    </p>
    <p>Sessions opened with this account are ended. Groups and roles that come from it are removed.</p>
  `;
  const title = 'Unlink this account?';
  if (user || !hasPassword) {
    const unlink = async () => {
      await (user ? api.del(at('/api/auth/identities/{id}', { id })) : api.post(remove, {}));
      await onDone();
    };
    return html`
      <${ConfirmDialog} title=${title} action="Unlink" onClose=${onClose} onConfirm=${unlink}>${text}</${ConfirmDialog}>
    `;
  }
  const unlink = async (/** @type {string} */ password) => {
    await api.post(remove, { password });
    await onDone();
    onClose();
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <${PasswordForm} submit="Unlink" kind="danger" onPassword=${unlink} onCancel=${onClose}>${text}</${PasswordForm}>
    </${Dialog}>
  `;
}

/** @param {(one: LinkedIdentity) => void} onUnlink @returns {import('../../ui/table.js').Column<LinkedIdentity>[]} */
function columns(onUnlink) {
  return [
    { key: 'provider', label: 'Provider', cell: (one) => html`<span class="strong">${one.provider}</span>` },
    {
      key: 'account',
      label: 'Account',
      cell: (one) => html`<span class="anywhere">${one.email ?? one.display_name ?? one.issuer}</span>`,
    },
    {
      key: 'last_login_at',
      label: 'Last sign-in',
      shrink: true,
      cell: (one) => html`<${Time} value=${one.last_login_at} none="never" />`,
    },
    buttonColumn('Unlink', (one) => one.provider, onUnlink),
  ];
}

/** @param {{providers: SignInOption[], hasPassword: boolean, onClose: () => void}} props */
function LinkDialog({ providers, hasPassword, onClose }) {
  const [name, setName] = useState(providers[0].name);
  const [password, setPassword] = useState('');
  const submit = async () => {
    const proof = hasPassword ? { password } : {};
    const { redirect_to } = await api.post(at('/api/auth/oidc/{name}/link', { name }), proof);
    location.assign(redirect_to);
  };
  return html`
    <${Dialog} title="Link an account" onClose=${onClose}>
      <${Form} submit="Continue at the provider" onSubmit=${submit} onCancel=${onClose}>
        <${Select} label="Provider" value=${name} onInput=${setName}
          options=${providers.map((one) => ({ value: one.name, label: one.label }))} />
        ${
          hasPassword
            ? html`
              <${TextInput} label="Your password on this server" type="password" value=${password}
                onInput=${setPassword} autocomplete="current-password" required />
            `
            : html`<p>You can link an account only within 10 minutes after your sign-in.</p>`
        }
      </${Form}>
    </${Dialog}>
  `;
}
