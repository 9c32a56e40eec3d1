/** The sign-in page. */
import { formatDuration } from '../lib/format.js';
import { completeSignIn, me, signIn } from '../lib/me.js';
import { hasPasskeys } from '../lib/passkeys.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { useWait } from '../lib/wait.js';
import { navigate, useQuery } from '../router.js';
import { findRoute, safeNext } from '../routes.js';
import { CodeBlock } from '../ui/code-block.js';
import { Notice } from '../ui/error-notice.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { Logo } from '../ui/icon.js';
import { PasskeyButton } from './login/passkey.js';
import { ProviderLinks } from './login/providers.js';

export default function LoginPage() {
  const next = safeNext(useQuery().get('next', '/'), location.origin);
  const state = useResource('/api/auth/state');
  const signedIn = Boolean(state.data?.me);
  useEffect(() => {
    if (!signedIn) return;
    // The user is not loaded yet, because this page is public.
    me.value = state.data.me;
    navigate(next, { replace: true });
  }, [signedIn]);
  // Blank until the server answers or fails, so that the form does not flash for signed-in users.
  const waiting = state.data === null && !state.error && !state.slow;
  if (waiting || signedIn) return null;
  const empty = state.data?.setup_needed === true;
  return html`
    <main class="bare">
      <div class="bare-card">
        <${Logo} />
        <h1>Sign in to svc</h1>
        ${empty ? html`<${NoUsers} />` : html`<${LoginForm} next=${next} />`}
      </div>
      ${
        !empty &&
        html`
          <p class="bare-foot muted small">
            No account yet? An administrator can create one: <code class="nowrap">svc user create</code>
          </p>
        `
      }
    </main>
  `;
}

function NoUsers() {
  return html`
    <${Notice} title="There is no user yet">
      <p>Create the first administrator with the one-time link that the server prints at each start.</p>
    </${Notice}>
    <p class="muted small">It looks like this:</p>
    <${CodeBlock} text=${`${location.origin}/setup?token=svc_set_…`} label="what the link looks like" wrap
      copy=${false} />
    <p class="muted small">If the server is a systemd service, the link is in the journal:</p>
    <${CodeBlock} text="journalctl -u svc | grep setup" label="command that finds the link" prompt />
  `;
}

/** @param {{next: string}} props */
function LoginForm({ next }) {
  const [pending, setPending] = useState(/** @type {import('../lib/me.js').Pending | null} */ (null));
  if (pending) return html`<${CodeForm} pending=${pending} next=${next} onBack=${() => setPending(null)} />`;
  return html`<${PasswordForm} next=${next} onPending=${setPending} />`;
}

/**
 * The second step.
 * @param {{pending: import('../lib/me.js').Pending, next: string, onBack: () => void}} props
 */
function CodeForm({ pending, next, onBack }) {
  const [code, setCode] = useState('');
  const [wait, setWait] = useWait();
  const submit = async () => {
    try {
      await completeSignIn(pending.token, code);
    } catch (error) {
      const { retryAfter } = /** @type {import('../lib/api.js').ApiError} */ (error);
      setCode('');
      if (retryAfter) setWait(retryAfter);
      throw error;
    }
    navigate(next, { replace: true });
  };
  const hint = pending.methods.includes('totp')
    ? 'From your authenticator app. Without your phone, enter a recovery code.'
    : 'Without your passkey, enter a recovery code.';
  return html`
    ${
      pending.methods.includes('passkey') &&
      hasPasskeys() &&
      html`
        <${PasskeyButton} next=${next} token=${pending.token}>Use a passkey</${PasskeyButton}>
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

/** @param {{next: string, onPending: (pending: import('../lib/me.js').Pending) => void}} props */
function PasswordForm({ next, onPending }) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [wait, setWait] = useWait();

  const submit = async () => {
    /** @type {import('../lib/me.js').Pending | null} */
    let pending;
    try {
      pending = await signIn(username.trim(), password);
    } catch (error) {
      const { retryAfter } = /** @type {import('../lib/api.js').ApiError} */ (error);
      setPassword('');
      if (retryAfter) setWait(retryAfter);
      throw error;
    }
    if (pending) onPending(pending);
    else navigate(next, { replace: true });
  };

  return html`
    <${ProviderLinks} next=${next} />
    <${Form} submit=${wait > 0 ? `Wait ${formatDuration(wait * 1_000)}` : 'Sign in'} disabled=${wait > 0} wideButton
      onSubmit=${submit}>
      <${TextInput} label="User name" value=${username} onInput=${setUsername} autocomplete="username"
        autocapitalize="off" spellcheck=${false} required autofocus />
      <${TextInput} label="Password" type="password" value=${password} onInput=${setPassword}
        autocomplete="current-password" required />
    </${Form}>
    ${hasPasskeys() && html`<${PasskeyButton} next=${next}>Sign in with a passkey</${PasskeyButton}>`}
    <${Destination} next=${next} />
  `;
}

/** Where the user goes after signing in. @param {{next: string}} props */
function Destination({ next }) {
  if (next === '/') return null;
  const { bare, title } = findRoute(new URL(next, location.origin).pathname);
  return html`
    <p class="muted small">
      ${
        bare
          ? html`After signing in you continue with “${title}”.`
          : html`You will be taken back to <span class="mono anywhere">${next}</span>.`
      }
    </p>
  `;
}
