/** The one-time link of a first start: makes the first administrator and signs in. */
import { api } from '../lib/api.js';
import { signIn } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { navigate, useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { Notice } from '../ui/error-notice.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { Logo } from '../ui/icon.js';

/** The shortest password the server takes. */
const SHORTEST = 8;

export default function SetupPage() {
  const token = useQuery().get('token');
  return html`
    <main class="bare">
      <div class="bare-card">
        <${Logo} />
        <h1>Set up svc</h1>
        ${token ? html`<${SetupForm} token=${token} />` : html`<${NoToken} />`}
      </div>
    </main>
  `;
}

/** @param {{token: string}} props */
function SetupForm({ token }) {
  const [username, setUsername] = useState('admin');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const [used, setUsed] = useState(false);
  const differs = again !== '' && !password.startsWith(again) && password !== again;

  const submit = async () => {
    if (password !== again) throw new Error('The two passwords differ.');
    try {
      await api.post('/api/auth/setup', { setup_token: token, username: username.trim(), password }, { anonymous: true });
    } catch (error) {
      if (/** @type {any} */ (error).code === 'already_set_up') setUsed(true);
      throw error;
    }
    await signIn(username.trim(), password);
    navigate('/', { replace: true });
  };

  return html`
    <p class="muted">Choose the name and password of the first administrator. This link works once.</p>
    <${Form} submit="Create administrator" wideButton onSubmit=${submit}>
      <${TextInput} label="User name" value=${username} onInput=${setUsername} autocomplete="username" autocapitalize="off" spellcheck=${false} required />
      <${TextInput} label="Password" type="password" value=${password} onInput=${setPassword} autocomplete="new-password" required minlength=${SHORTEST} hint=${`At least ${SHORTEST} characters.`} autofocus />
      <${TextInput} label="Password again" type="password" value=${again} onInput=${setAgain} autocomplete="new-password" required error=${differs ? 'The two passwords differ.' : ''} />
    </${Form}>
    ${used && html`<${Button} href="/login">Go to sign in</${Button}>`}
  `;
}

function NoToken() {
  return html`
    <${Notice} tone="warn" icon="alert" title="The link is not complete">
      <p>The address must end in <code>?token=…</code>. The server prints the whole link when it starts for the first time.</p>
    </${Notice}>
    <${Button} href="/login">Already set up? Sign in</${Button}>
  `;
}
