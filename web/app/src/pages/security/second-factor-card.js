/** The second factor of the signed-in user: set up, change, remove. */
import { api } from '../../lib/api.js';
import { plural } from '../../lib/format.js';
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
import { RecoveryCodes } from './recovery-codes.js';
import { PasswordForm, SetupApp } from './setup-app.js';

await loadStyles('security.css');

/** @typedef {'' | 'setup' | 'codes' | 'remove'} Open */

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
      description="A code of an app on your phone, in addition to the password. Tokens do not need it.">
      ${
        pendingOf(state) ??
        html`
          <${ErrorNotice} error=${state.error} title="Not up to date" />
          ${
            state.data.totp_since
              ? html`<${Enabled} state=${state.data} onOpen=${setOpen} />`
              : html`
                <div class="actions">
                  <${Button} kind="primary" icon="shield" onClick=${() => setOpen('setup')}>
                    Set up an authenticator app
                  </${Button}>
                </div>
              `
          }
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
    ${open === 'codes' && html`<${NewCodes} onDone=${() => done('New recovery codes made')} onClose=${close} />`}
    ${open === 'remove' && html`<${Remove} onDone=${() => done('Second factor removed')} onClose=${close} />`}
  `;
}

/**
 * @param {{state: {totp_since: string, recovery_codes_left: number, required: boolean}, onOpen: (what: Open) => void}}
 *   props
 */
function Enabled({ state, onOpen }) {
  return html`
    <${KeyValue}
      items=${[
        [
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
        state.required && ['Required', 'A role of yours requires a second factor, so it cannot be removed.'],
      ]} />
    <div class="actions">
      <${Button} onClick=${() => onOpen('setup')}>Change the app</${Button}>
      <${Button} onClick=${() => onOpen('codes')}>New recovery codes</${Button}>
      ${!state.required && html`<${Button} onClick=${() => onOpen('remove')}>Remove</${Button}>`}
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
              <p>The codes that you have now are not valid any more.</p>
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
    <${Dialog} title="Remove the second factor?" onClose=${onClose}>
      <${PasswordForm} submit="Remove" kind="danger" onPassword=${remove} onCancel=${onClose}>
        <p>You sign in with the password alone then. The recovery codes are deleted.</p>
      </${PasswordForm}>
    </${Dialog}>
  `;
}
