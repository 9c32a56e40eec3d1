/** The consent page: an app asks to connect to the user's account. */

import { api, at } from '../lib/api.js';
import { Refusal } from '../lib/errors.js';
import { safeRedirect, scopeText } from '../lib/oauth.js';
import { html, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { BareCard } from '../ui/bare-card.js';
import { Button } from '../ui/button.js';
import { KeyValue } from '../ui/card.js';
import { Notice, pendingOf } from '../ui/error-notice.js';
import { withCode } from '../ui/rich-text.js';
import { Decision, You } from './apps/decision.js';
import { Origin, QuotedName } from './apps/identity.js';

/** @import { AppSummary, Consent } from 'api' */
/** @import { Address } from 'requests' */

await loadStyles('apps.css');

export default function ConnectPage() {
  const id = useQuery().get('request');
  return html`<${Request} key=${id} path=${id ? at('/api/oauth/requests/{id}', { id }) : null} />`;
}

/** @param {{path: Address<'/api/oauth/requests/{id}'> | null}} props */
function Request({ path }) {
  const request = useResource(path);
  const [answer, setAnswer] = useState(/** @type {'' | 'allowed' | 'denied' | 'gone'} */ (''));
  if (!path || request.error?.status === 404 || answer === 'gone') return html`<${Gone} />`;
  const pending = pendingOf(request);
  if (pending || !request.data) return html`<${BareCard} title="Connect an app" wide>${pending}</${BareCard}>`;
  const decide = async (/** @type {boolean} */ approve) => {
    try {
      const { redirect_to } = await api.post(path, { approve });
      const target = safeRedirect(redirect_to);
      if (!target) throw new Refusal('The app named an address that is not safe to open. Nothing was opened.');
      setAnswer(approve ? 'allowed' : 'denied');
      // Not a form: the content security policy forbids submitting forms.
      location.href = target;
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) throw error;
      setAnswer('gone');
    }
  };
  return answer
    ? html`<${Answered} app=${request.data.app} allowed=${answer === 'allowed'} />`
    : html`<${Question} consent=${request.data} onAnswer=${decide} />`;
}

/** @param {{consent: Consent, onAnswer: (approve: boolean) => Promise<void>}} props */
function Question({ consent, onAnswer }) {
  const { app, scopes, missing_permission: missing } = consent;
  return html`
    <${BareCard} wide title=${html`Connect <${QuotedName} app=${app} /> to svc?`}
      foot=${!missing && html`<${Undo} login=${scopes.includes('cli')} />`}>
      <${KeyValue} class="consent"
        items=${[
          ['App', html`<${QuotedName} app=${app} />, <${Origin} app=${app} />`],
          ['Returns to', html`<strong class="anywhere">${consent.redirect_host}</strong>`],
          ['It may', html`<${Scopes} scopes=${scopes} />`],
          ['You are', html`<${You} />`],
        ]} />
      ${consent.redirect_is_local && !missing && html`<${LocalWarning} />`}
      ${missing && html`<${Missing} permission=${missing} />`}
      <${Decision} onAnswer=${onAnswer} mayAllow=${!missing} />
    </${BareCard}>
  `;
}

/** Explains how to revoke the permission. @param {{login: boolean}} props `login`: the app gets a token */
function Undo({ login }) {
  return login
    ? html`You can revoke its token at any time: <a href="/tokens">Tokens</a>.`
    : html`You can disconnect it at any time: <a href="/account#apps">Connected apps</a> in your account.`;
}

/** @param {{scopes: string[]}} props */
function Scopes({ scopes }) {
  return html`
    <ul class="consent-scopes">
      ${scopes.map((scope) => html`<li key=${scope}>${withCode(scopeText(scope))}</li>`)}
    </ul>
  `;
}

function LocalWarning() {
  return html`
    <${Notice} tone="warn" icon="alert" title="The answer goes to a program on this computer">
      <p>Continue only if you have just started the connection from a program here.</p>
    </${Notice}>
  `;
}

/** @param {{permission: string}} props */
function Missing({ permission }) {
  return html`
    <${Notice} tone="warn" icon="lock" title="Your account lacks a permission">
      <p>
        This connection needs the permission <code>${permission}</code>. An administrator can assign a role that
        includes it. Then start the connection again in the app.
      </p>
    </${Notice}>
  `;
}

/**
 * Shown after the answer. The page often stays open, because the browser passes the answer to another program.
 * @param {{app: AppSummary, allowed: boolean}} props
 */
function Answered({ app, allowed }) {
  return html`
    <${BareCard} wide next title=${allowed ? 'Connected' : 'Not connected'}>
      <p>
        ${
          allowed
            ? html`You allowed <${QuotedName} app=${app} /> to connect.`
            : html`<${QuotedName} app=${app} /> was not allowed to connect.`
        }
      </p>
      <p>You can close this page.</p>
      ${allowed && html`<p class="muted small">If the app does not continue, start the connection there again.</p>`}
    </${BareCard}>
  `;
}

function Gone() {
  return html`
    <${BareCard} wide next title="This request is no longer valid">
      <p>
        It expired, was already answered, or belongs to another session. Start the connection again in the app.
      </p>
      <${Button} class="button-wide" href="/">Go to the overview</${Button}>
    </${BareCard}>
  `;
}
