/** The form that signs a user in, on the sign-in page and in the dialog of an ended session. */
import { formatDuration } from '../../lib/duration.js';
import { completeSignIn, signIn } from '../../lib/me.js';
import { hasPasskeys } from '../../lib/passkeys.js';
import { html, useState } from '../../lib/preact.js';
import { useWait } from '../../lib/wait.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PasskeyButton } from './passkey.js';
import { ProviderLinks } from './providers.js';

/** @import { PendingLogin } from 'api' */

/**
 * Asks for the password, and then for the second factor if the user has one.
 * @param {object} props
 * @param {string} props.next the page to which a provider returns
 * @param {() => void} props.onDone called once the user is signed in
 * @param {string} [props.username] the only user who may sign in here
 */
export function LoginForm({ next, onDone, username }) {
  const [pending, setPending] = useState(/** @type {PendingLogin | null} */ (null));
  if (pending) return html`<${CodeForm} pending=${pending} onDone=${onDone} onBack=${() => setPending(null)} />`;
  return html`<${PasswordForm} ...${{ next, onDone, known: username }} onPending=${setPending} />`;
}

/**
 * The second step.
 * @param {{pending: PendingLogin, onDone: () => void, onBack: () => void}} props
 */
function CodeForm({ pending, onDone, onBack }) {
  const [code, setCode] = useState('');
  const [wait, setWait] = useWait();
  const submit = async () => {
    try {
      await completeSignIn(pending.token, code);
    } catch (error) {
      const { retryAfter } = /** @type {import('../../lib/api.js').ApiError} */ (error);
      setCode('');
      if (retryAfter) setWait(retryAfter);
      throw error;
    }
    onDone();
  };
  const hint = pending.methods.includes('totp')
    ? 'From your authenticator app. Without your phone, enter a recovery code.'
    : 'Without your passkey, enter a recovery code.';
  return html`
    ${
      pending.methods.includes('passkey') &&
      hasPasskeys() &&
      html`
        <${PasskeyButton} onDone=${onDone} token=${pending.token}>Use a passkey</${PasskeyButton}>
        <p class="muted small">Or with a code:</p>
      `
    }
    <${Form} submit=${wait > 0 ? `Wait ${formatDuration(wait * 1_000)}` : 'Continue'} disabled=${wait > 0} wideButton
      onSubmit=${submit}>
      <${TextInput} label="Code" hint=${hint} mono value=${code} onInput=${setCode} autocomplete="one-time-code"
        maxlength="40" required autofocus />
    </${Form}>
    <p class="muted small"><button type="button" class="link-button" onClick=${onBack}>Start again</button></p>
  `;
}

/**
 * @param {{next: string, onDone: () => void, known?: string, onPending: (pending: PendingLogin) =>
 *   void}} props
 */
function PasswordForm({ next, onDone, known, onPending }) {
  const [username, setUsername] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const [wait, setWait] = useWait();

  const submit = async () => {
    /** @type {PendingLogin | null} */
    let pending;
    try {
      pending = await signIn(username.trim(), password);
    } catch (error) {
      const { retryAfter } = /** @type {import('../../lib/api.js').ApiError} */ (error);
      setPassword('');
      if (retryAfter) setWait(retryAfter);
      throw error;
    }
    if (pending) onPending(pending);
    else onDone();
  };

  return html`
    <${ProviderLinks} next=${next} />
    <${Form} submit=${wait > 0 ? `Wait ${formatDuration(wait * 1_000)}` : 'Sign in'} disabled=${wait > 0} wideButton
      onSubmit=${submit}>
      <${TextInput} label="User name" value=${username} onInput=${setUsername} autocomplete="username"
        autocapitalize="off" spellcheck=${false} required readonly=${known !== undefined}
        autofocus=${known === undefined} />
      <${TextInput} label="Password" type="password" value=${password} onInput=${setPassword}
        autocomplete="current-password" required autofocus=${known !== undefined} />
    </${Form}>
    ${
      // A passkey may belong to another user. Where only one user may sign in, no passkey is offered.
      known === undefined &&
      hasPasskeys() &&
      html`<${PasskeyButton} onDone=${onDone}>Sign in with a passkey</${PasskeyButton}>`
    }
  `;
}
