/** Fields of spaces and of templates: health check and startup script. */
import { html } from '../../lib/preact.js';
import { Select, TextInput } from '../../ui/field.js';

/** @import { HealthCheck } from 'api' */

/** A health check in a form: every member is a text. @typedef {ReturnType<typeof draftOfCheck>} CheckDraft */

/** The initial values of a form without a health check. The server has the same defaults. @type {HealthCheck} */
export const NO_CHECK = { type: 'none', interval_seconds: 10, timeout_seconds: 5, failures: 3 };

/** @param {HealthCheck} check */
export function checkText(check) {
  if (check.type === 'tcp') return `tcp:${check.port}`;
  if (check.type === 'http') return check.url;
  return check.type === 'command' ? `command: ${check.command}` : 'none';
}

const TYPES = [
  { value: 'none', label: 'None' },
  { value: 'tcp', label: 'TCP: something listens on a port' },
  { value: 'http', label: 'HTTP: a GET answers 2xx' },
  { value: 'command', label: 'Command: exits with status 0' },
];

/** @param {HealthCheck} check */
export function draftOfCheck(check) {
  return {
    type: /** @type {string} */ (check.type),
    port: String(check.port ?? ''),
    url: check.url ?? '',
    command: check.command ?? '',
    interval_seconds: String(check.interval_seconds),
    timeout_seconds: String(check.timeout_seconds),
    failures: String(check.failures),
  };
}

/** The health check of a form, with the members that its type allows. @param {Record<string, string>} check */
export function checkOf({ type, port, url, command, interval_seconds: interval, timeout_seconds: timeout, failures }) {
  const probe = { tcp: { port: Number(port) }, http: { url }, command: { command } }[type];
  return {
    type,
    ...probe,
    interval_seconds: Number(interval),
    timeout_seconds: Number(timeout),
    failures: Number(failures),
  };
}

/** @param {Record<string, any>} one @param {Record<string, any>} other */
export const sameCheck = (one, other) =>
  ['type', 'port', 'url', 'command', 'interval_seconds', 'timeout_seconds', 'failures'].every(
    (name) => one[name] === other[name],
  );

/** @param {{check: CheckDraft, onChange: (check: CheckDraft) => void}} props */
export function HealthFields({ check, onChange }) {
  const put = (/** @type {keyof CheckDraft} */ name) => (/** @type {string} */ value) =>
    onChange({ ...check, [name]: value });
  return html`
    <${Select} label="Health check" value=${check.type} onInput=${put('type')} options=${TYPES} />
    ${
      check.type === 'tcp' &&
      html`
        <${TextInput} label="Port" value=${check.port} onInput=${put('port')} type="number" min="1" max="65535"
          required />
      `
    }
    ${
      check.type === 'http' &&
      html`
        <${TextInput} label="Address" mono value=${check.url} onInput=${put('url')}
          placeholder="http://127.0.0.1:3000/healthz" required />
      `
    }
    ${
      check.type === 'command' &&
      html`<${TextInput} label="Command" mono value=${check.command} onInput=${put('command')} required />`
    }
    ${
      check.type !== 'none' &&
      html`
        <div class="field-row">
          <${TextInput} label="Every (s)" type="number" min="1" value=${check.interval_seconds}
            onInput=${put('interval_seconds')} required />
          <${TextInput} label="Waits (s)" type="number" min="1" value=${check.timeout_seconds}
            onInput=${put('timeout_seconds')} required />
          <${TextInput} label="Failures" type="number" min="1" value=${check.failures} onInput=${put('failures')}
            required />
        </div>
      `
    }
  `;
}

/**
 * @param {{scripts: {id: string, name: string, owner: string}[], value: string, onInput: (id: string) => void, hint:
 *   string}} props
 */
export function StartupField({ scripts, value, onInput, hint }) {
  const options = [
    { value: '', label: 'None' },
    ...scripts.map((one) => ({ value: one.id, label: one.owner === 'global' ? `${one.name} (global)` : one.name })),
  ];
  if (value && !scripts.some((one) => one.id === value)) options.push({ value, label: value });
  return html`<${Select} label="Startup script" value=${value} onInput=${onInput} options=${options} hint=${hint} />`;
}
