/** Signing in. */
import { formatDuration } from '../lib/format.js';
import { signIn } from '../lib/me.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { navigate, safeNext, useQuery } from '../router.js';
import { Logo } from '../ui/icon.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';

export default function LoginPage() {
  const query = useQuery();
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [wait, setWait] = useWait();

  const submit = async () => {
    try {
      await signIn(username.trim(), password);
    } catch (error) {
      const { retryAfter } = /** @type {import('../lib/api.js').ApiError} */ (error);
      setPassword('');
      if (retryAfter) setWait(retryAfter);
      throw error;
    }
    navigate(safeNext(query.get('next', '/')), { replace: true });
  };

  return html`
    <main class="bare">
      <div class="bare-card">
        <${Logo} />
        <h1>Sign in to svc</h1>
        <${Form} submit=${wait > 0 ? `Wait ${formatDuration(wait * 1_000)}` : 'Sign in'} disabled=${wait > 0} wideButton onSubmit=${submit}>
          <${TextInput} label="User name" value=${username} onInput=${setUsername} autocomplete="username" autocapitalize="off" spellcheck=${false} required autofocus />
          <${TextInput} label="Password" type="password" value=${password} onInput=${setPassword} autocomplete="current-password" required />
        </${Form}>
        ${query.get('next') && html`<p class="muted small">You will be taken back to <span class="mono">${safeNext(query.get('next'))}</span>.</p>`}
      </div>
      <p class="bare-foot muted small">No account yet? An administrator makes one: <code class="nowrap">svc user create</code></p>
    </main>
  `;
}

/** Seconds until the server takes another attempt, counting down. @returns {[number, (seconds: number) => void]} */
function useWait() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (seconds <= 0) return undefined;
    const timer = setTimeout(() => setSeconds(seconds - 1), 1_000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return [seconds, setSeconds];
}
