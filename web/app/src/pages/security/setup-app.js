/** Sets up an authenticator app: password, QR code, first code, recovery codes. */
import { api } from '../../lib/api.js';
import { me } from '../../lib/me.js';
import { html, useState } from '../../lib/preact.js';
import { CodeBlock } from '../../ui/code-block.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { RecoveryCodes } from './recovery-codes.js';

/** @import { TotpEnrolment } from 'api' */

/**
 * @param {{onDone: () => any, onCancel?: () => void}} props `onDone` is called after the recovery codes were shown
 */
export function SetupApp({ onDone, onCancel }) {
  const [enrolment, setEnrolment] = useState(/** @type {TotpEnrolment | null} */ (null));
  const [codes, setCodes] = useState(/** @type {string[] | null} */ (null));
  if (codes) return html`<${RecoveryCodes} codes=${codes} onDone=${onDone} />`;
  if (!enrolment) {
    return html`
      <${PasswordForm} submit="Continue" onCancel=${onCancel}
        onPassword=${async (/** @type {string} */ password) =>
          setEnrolment(await api.post('/api/auth/totp', { password }))} />
    `;
  }
  return html`<${FirstCode} enrolment=${enrolment} onConfirmed=${setCodes} onCancel=${onCancel} />`;
}

/**
 * @param {{enrolment: TotpEnrolment, onConfirmed: (codes: string[]) => void, onCancel?: () => void}} props
 */
function FirstCode({ enrolment, onConfirmed, onCancel }) {
  const [code, setCode] = useState('');
  const submit = async () => {
    const answer = await api.post('/api/auth/totp/confirm', { code });
    onConfirmed(answer.recovery_codes);
  };
  return html`
    <${Form} submit="Turn on" onSubmit=${submit} onCancel=${onCancel}>
      <p>Scan this picture with an authenticator app on your phone, or type the key into the app.</p>
      <img class="qr" src=${`data:image/svg+xml;base64,${btoa(enrolment.qr_svg)}`} width="220" height="220"
        alt="QR code with the key below" />
      <${CodeBlock} text=${enrolment.secret} label="key" wrap />
      <${CodeInput} value=${code} onInput=${setCode} label="Code that the app shows" />
    </${Form}>
  `;
}

/** @param {{value: string, onInput: (text: string) => void, label: string, hint?: any}} props */
export function CodeInput({ value, onInput, label, hint }) {
  return html`
    <${TextInput} label=${label} hint=${hint} mono value=${value} onInput=${onInput} autocomplete="one-time-code"
      maxlength="40" required autofocus />
  `;
}

/**
 * Asks for the user's own password, before a change of how the user signs in.
 * @param {object} props
 * @param {any} props.submit
 * @param {(password: string) => Promise<any>} props.onPassword
 * @param {() => void} [props.onCancel]
 * @param {'primary' | 'danger'} [props.kind]
 * @param {any} [props.children]
 */
export function PasswordForm({ submit, onPassword, onCancel, kind, children }) {
  const [password, setPassword] = useState('');
  return html`
    <${Form} submit=${submit} kind=${kind} onSubmit=${() => onPassword(password)} onCancel=${onCancel}>
      ${children}
      <input class="visually-hidden" type="text" autocomplete="username" value=${me.value?.username} tabindex="-1"
        aria-hidden="true" readonly />
      <${TextInput} label="Your password" type="password" value=${password} onInput=${setPassword}
        autocomplete="current-password" required autofocus />
    </${Form}>
  `;
}
