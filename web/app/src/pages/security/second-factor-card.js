/** The second factor of the signed-in user: set up, change, remove. */
import { api } from '../../lib/api.js';
import { plural } from '../../lib/format.js';
import { hasPasskeys } from '../../lib/passkeys.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { loadStyles } from '../../lib/styles.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card, KeyValue } from '../../ui/card.js';
import { Dialog } from '../../ui/dialog.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';
import { PasskeyList, SetupPasskey } from './passkeys.js';
import { RecoveryCodes } from './recovery-codes.js';
import { PasswordForm, SetupApp } from './setup-app.js';

/** @import { SecondFactors } from 'api' */

await loadStyles('security.css');

/** @typedef {'' | 'setup' | 'passkey' | 'codes' | 'remove'} Open */

export function SecondFactorCard() {
  const state = useResource('/api/auth/second-factor');
  const [open, setOpen] = useState(/** @type {Open} */ (''));
  const close = () => setOpen('');
  const done = async (/** @type {string} */ message) => {
    close();
    await state.reload();
    toast(message);
  };
  return html`
    <${Card} title="Second factor" id="second-factor"
      description="A passkey, or a code of an app on your phone, in addition to the password. Tokens do not need it.">
      ${
        pendingOf(state) ??
        html`
          <${ErrorNotice} error=${state.error} title="Not up to date" />
          ${
            (state.data?.totp_since || state.data?.passkeys.length) &&
            html`<${Enabled} state=${state.data} onDone=${done} />`
          }
          <${Actions} state=${state.data} onOpen=${setOpen} />
        `
      }
    </${Card}>
    ${
      open === 'setup' &&
      html`
        <${Dialog} title="Authenticator app" onClose=${close}>
          <${SetupApp} onDone=${() => done('Second factor set up')} onCancel=${close} />
        </${Dialog}>
      `
    }
    ${
      open === 'passkey' &&
      html`
        <${Dialog} title="Passkey" onClose=${close}>
          <${SetupPasskey} onDone=${() => done('Passkey added')} onCancel=${close} />
        </${Dialog}>
      `
    }
    ${open === 'codes' && html`<${NewCodes} onDone=${() => done('New recovery codes made')} onClose=${close} />`}
    ${open === 'remove' && html`<${Remove} onDone=${() => done('Second factor removed')} onClose=${close} />`}
  `;
}

/** @param {{state: SecondFactors, onDone: (message: string) => any}} props */
function Enabled({ state, onDone }) {
  const isLast = !state.totp_since && state.passkeys.length === 1;
  return html`
    <${KeyValue}
      items=${[
        state.totp_since && [
          'Authenticator app',
          html`<${Status} tone="good">on</${Status}> since <${Time} value=${state.totp_since} exact />`,
        ],
        [
          'Recovery codes',
          html`
            <${Status} tone=${state.recovery_codes_left < 3 ? 'warn' : 'neutral'}>
              ${plural(state.recovery_codes_left, 'code')} left
            </${Status}>
          `,
        ],
        state.passkeys.length > 0 && [
          'Passkeys',
          html`
            <${PasskeyList} passkeys=${state.passkeys} canRemove=${!(state.required && isLast)} onDone=${onDone} />
          `,
        ],
        state.required && ['Required', 'A role of yours requires a second factor, so you cannot remove the last one.'],
      ]} />
  `;
}

/** @param {{state: SecondFactors, onOpen: (what: Open) => void}} props */
function Actions({ state, onOpen }) {
  const { totp_since: app, passkeys, required } = state;
  const hasFactor = app || passkeys.length > 0;
  return html`
    <div class="actions">
      <${Button} kind=${hasFactor ? 'secondary' : 'primary'} icon=${app ? undefined : 'shield'}
        onClick=${() => onOpen('setup')}>
        ${app ? 'Change the app' : 'Set up an authenticator app'}
      </${Button}>
      ${hasPasskeys() && html`<${Button} icon="key" onClick=${() => onOpen('passkey')}>Add a passkey</${Button}>`}
      ${hasFactor && html`<${Button} onClick=${() => onOpen('codes')}>New recovery codes</${Button}>`}
      ${
        app &&
        !(required && passkeys.length === 0) &&
        html`<${Button} onClick=${() => onOpen('remove')}>Remove the app</${Button}>`
      }
    </div>
  `;
}

/** @param {{onDone: () => any, onClose: () => void}} props */
function NewCodes({ onDone, onClose }) {
  const [codes, setCodes] = useState(/** @type {string[] | null} */ (null));
  const make = async (/** @type {string} */ password) => {
    const answer = await api.post('/api/auth/recovery-codes', { password });
    setCodes(answer.recovery_codes);
  };
  return html`
    <${Dialog} title="New recovery codes" onClose=${onClose} locked=${codes !== null}>
      ${
        codes
          ? html`<${RecoveryCodes} codes=${codes} onDone=${onDone} />`
          : html`
            <${PasswordForm} submit="Make new codes" onPassword=${make} onCancel=${onClose}>
              <p>When you make new codes, your old codes become invalid.</p>
            </${PasswordForm}>
          `
      }
    </${Dialog}>
  `;
}

/** @param {{onDone: () => any, onClose: () => void}} props */
function Remove({ onDone, onClose }) {
  const remove = async (/** @type {string} */ password) => {
    await api.post('/api/auth/totp/remove', { password });
    await onDone();
  };
  return html`
    <${Dialog} title="Remove the authenticator app?" onClose=${onClose}>
      <${PasswordForm} submit="Remove" kind="danger" onPassword=${remove} onCancel=${onClose}>
        <p>If you have no passkey, you sign in with the password alone, and the recovery codes are deleted.</p>
      </${PasswordForm}>
    </${Dialog}>
  `;
}
