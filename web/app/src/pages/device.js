/** Signs in a machine without a browser: the user enters the code that the machine shows. */

import { api, at } from '../lib/api.js';
import { formatDuration } from '../lib/duration.js';
import { Refusal } from '../lib/errors.js';
import { me } from '../lib/me.js';
import { userCode } from '../lib/oauth.js';
import { html, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { useWait } from '../lib/wait.js';
import { useQuery } from '../router.js';
import { BareCard } from '../ui/bare-card.js';
import { Button } from '../ui/button.js';
import { KeyValue } from '../ui/card.js';
import { Notice } from '../ui/error-notice.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { Time } from '../ui/time.js';
import { Decision, You } from './apps/decision.js';
import { Origin, QuotedName } from './apps/identity.js';

/** @import { DeviceLogin } from 'api' */

await loadStyles('apps.css');

export default function DevicePage() {
  const [login, setLogin] = useState(/** @type {DeviceLogin | null} */ (null));
  const [answer, setAnswer] = useState(/** @type {boolean | null} */ (null));
  if (answer !== null) return html`<${Answered} allowed=${answer} />`;
  if (!login) return html`<${CodePage} onFound=${setLogin} />`;
  return html`<${Question} login=${login} onAnswered=${setAnswer} onBack=${() => setLogin(null)} />`;
}

/**
 * The user must confirm the code even if the link contains it: a link from a stranger must not open the question
 * directly.
 * @param {{onFound: (login: DeviceLogin) => void}} props
 */
function CodePage({ onFound }) {
  const linked = userCode(useQuery().get('code'));
  const [code, setCode] = useState(linked ?? '');
  const [wait, setWait] = useWait();
  const submit = async () => {
    const known = userCode(code);
    if (!known) throw new Refusal('A code has 8 letters, such as BCDF-GHJK. It has no vowels and no digits.');
    try {
      onFound(await api.get(at('/api/oauth/devices/{user_code}', { user_code: known })));
    } catch (error) {
      const { retryAfter } = /** @type {import('../lib/api.js').ApiError} */ (error);
      if (retryAfter) setWait(retryAfter);
      throw error;
    }
  };
  return html`
    <${BareCard} title="Sign in a machine">
      <p class="muted">Enter the code that the machine shows, for instance after <code>svc login</code>.</p>
      <${Form} submit=${wait > 0 ? `Wait ${formatDuration(wait * 1_000)}` : 'Continue'} disabled=${wait > 0} wideButton
        onSubmit=${submit}>
        <${TextInput} label="Code" mono class="device-code" value=${code} onInput=${setCode} placeholder="BCDF-GHJK"
          hint=${linked && 'The code of your link. Compare it with the code on the machine.'} autocomplete="off"
          maxlength="20" required autofocus />
      </${Form}>
    </${BareCard}>
  `;
}

/** @param {{login: DeviceLogin, onAnswered: (allowed: boolean) => void, onBack: () => void}} props */
function Question({ login, onAnswered, onBack }) {
  const answer = async (/** @type {boolean} */ approve) => {
    await api.post(at('/api/oauth/devices/{user_code}', { user_code: login.user_code }), { approve });
    onAnswered(approve);
  };
  return html`
    <${BareCard} wide next title="Sign in this machine?"
      foot=${html`
        You can revoke its token at any time: <a href="/tokens">Tokens</a>.<br />
        <button type="button" class="link-button" onClick=${onBack}>Enter another code</button>
      `}>
      <${KeyValue} class="consent"
        items=${[
          ['Code', html`<strong class="mono">${login.user_code}</strong>`],
          ['App', html`<${QuotedName} app=${login.app} />, <${Origin} app=${login.app} />`],
          ['Asked from', html`<strong class="mono anywhere">${login.address}</strong>`],
          ['Asked at', html`<${Time} value=${login.created_at} exact /> (<${Time} value=${login.created_at} />)`],
          ['It may', 'Everything that you can do, from that machine'],
          ['You are', html`<${You} />`],
        ]} />
      <${Notice} tone="warn" icon="alert" title="Only continue if you started this login yourself">
        <p>Someone who sent you this code or its link would get access to your account.</p>
      </${Notice}>
      <${Decision} onAnswer=${answer} />
    </${BareCard}>
  `;
}

/** @param {{allowed: boolean}} props */
function Answered({ allowed }) {
  return html`
    <${BareCard} next title=${allowed ? 'Machine signed in' : 'Login refused'}>
      <p>
        ${
          allowed
            ? html`The machine is signed in as <strong class="mono anywhere">${me.value?.username}</strong>.`
            : 'The machine was not signed in.'
        }
      </p>
      <p>You can close this page.</p>
      <${Button} class="button-wide" href="/">Go to the overview</${Button}>
    </${BareCard}>
  `;
}
