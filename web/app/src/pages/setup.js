/** The page of the one-time setup link: creates the first administrator and signs in. */

import { api } from '../lib/api.js';
import { Refusal } from '../lib/errors.js';
import { signIn } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { navigate, useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { Notice } from '../ui/error-notice.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { Logo } from '../ui/icon.js';
import { Loading } from '../ui/spinner.js';

/** The minimum length of a password. */
const SHORTEST = 8;

export default function SetupPage() {
  const token = useQuery().get('token');
  const state = useResource('/api/auth/state');
  const content = () => {
    if (state.data === null && !state.error) return state.slow && html`<${Loading} />`;
    if (state.data?.setup_needed === false) return html`<${SetupComplete} signedIn=${state.data.me !== null} />`;
    return token ? html`<${SetupForm} token=${token} onRefused=${state.reload} />` : html`<${NoToken} />`;
  };
  return html`
    <main class="bare">
      <div class="bare-card">
        <${Logo} />
        <h1>Set up svc</h1>
        ${content()}
      </div>
    </main>
  `;
}

/** @param {{token: string, onRefused: () => void}} props */
function SetupForm({ token, onRefused }) {
  const [username, setUsername] = useState('admin');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const differs = again !== '' && !password.startsWith(again) && password !== again;

  const submit = async () => {
    if (password !== again) throw new Refusal('The two passwords differ.');
    try {
      await api.post(
        '/api/auth/setup',
        { setup_token: token, username: username.trim(), password },
        { anonymous: true },
      );
    } catch (error) {
      // Another user may have used the link in the meantime.
      onRefused();
      throw error;
    }
    await signIn(username.trim(), password);
    navigate('/', { replace: true });
  };

  return html`
    <p class="muted">Choose the name and password of the first administrator. This link works once.</p>
    <${Form} submit="Create administrator" wideButton onSubmit=${submit}>
      <${TextInput} label="User name" value=${username} onInput=${setUsername} autocomplete="username"
        autocapitalize="off" spellcheck=${false} required />
      <${TextInput} label="Password" type="password" value=${password} onInput=${setPassword}
        autocomplete="new-password" required minlength=${SHORTEST} hint=${`At least ${SHORTEST} characters.`}
        autofocus />
      <${TextInput} label="Password again" type="password" value=${again} onInput=${setAgain}
        autocomplete="new-password" required error=${differs ? 'The two passwords differ.' : ''} />
    </${Form}>
  `;
}

/** @param {{signedIn: boolean}} props */
function SetupComplete({ signedIn }) {
  return html`
    <p class="muted">This server is set up already: the setup link is no longer valid.</p>
    ${
      signedIn
        ? html`<${Button} kind="primary" class="button-wide" href="/">Go to the overview</${Button}>`
        : html`<${Button} kind="primary" class="button-wide" href="/login">Go to sign in</${Button}>`
    }
  `;
}

function NoToken() {
  return html`
    <${Notice} tone="warn" icon="alert" title="The link is incomplete">
      <p>
        The address must end in <code>?token=…</code>. While there is no user, the server prints the whole link each
        time it starts.
      </p>
    </${Notice}>
  `;
}
