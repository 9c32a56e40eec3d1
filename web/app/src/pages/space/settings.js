/** The settings of a space: health check and startup script. */
import { api } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';
import { Card, KeyValue } from '../../ui/card.js';
import { Dialog } from '../../ui/dialog.js';
import { Select, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';

/** @typedef {import('../spaces/status.js').Space} Space */
/** @typedef {import('../spaces/status.js').HealthCheck} HealthCheck */

/** @param {{space: Space, onChanged: (space: Space) => void}} props */
export function SettingsCard({ space, onChanged }) {
  const [editing, setEditing] = useState(false);
  const scripts = useResource('/api/scripts?kind=startup&limit=1000');
  const script = scripts.data?.scripts.find((/** @type {any} */ one) => one.id === space.startup_script_id);
  const startup = space.startup_script_id
    ? html`<a class="mono" href=${`/scripts/${space.startup_script_id}`}>${script?.name ?? space.startup_script_id}</a>`
    : html`<span class="muted">none</span>`;
  return html`
    <${Card} title="Settings"
      actions=${html`<${Button} size="small" icon="edit" onClick=${() => setEditing(true)}>Edit settings</${Button}>`}>
      <${KeyValue}
        items=${[
          ['Startup script', startup],
          ['Health check', html`<span class="mono">${checkText(space.health_check)}</span>`],
          space.health_check.type !== 'none' && [
            'Checked',
            `every ${space.health_check.interval_seconds} s, waits ${space.health_check.timeout_seconds} s; ` +
              `unhealthy after ${space.health_check.failures} failures in a row`,
          ],
        ]} />
    </${Card}>
    ${
      editing &&
      html`
        <${SettingsDialog} space=${space} scripts=${scripts.data?.scripts ?? []} onClose=${() => setEditing(false)}
          onChanged=${onChanged} />
      `
    }
  `;
}

/** @param {HealthCheck} check */
function checkText(check) {
  if (check.type === 'tcp') return `tcp:${check.port}`;
  if (check.type === 'http') return check.url;
  return check.type === 'command' ? `command: ${check.command}` : 'none';
}

const TYPES = [
  { value: 'none', label: 'None' },
  { value: 'tcp', label: 'TCP: something listens on a port' },
  { value: 'http', label: 'HTTP: a GET answers 2xx' },
  { value: 'command', label: 'Command: ends with 0' },
];

/**
 * @param {{space: Space, scripts: {id: string, name: string, owner: string}[], onClose: () => void, onChanged: (space:
 *   Space) => void}} props
 */
function SettingsDialog({ space, scripts, onClose, onChanged }) {
  const was = space.health_check;
  const [script, setScript] = useState(space.startup_script_id ?? '');
  const [check, setCheck] = useState({
    type: /** @type {string} */ (was.type),
    port: String(was.port ?? ''),
    url: was.url ?? '',
    command: was.command ?? '',
    interval_seconds: String(was.interval_seconds),
    timeout_seconds: String(was.timeout_seconds),
    failures: String(was.failures),
  });
  const put = (/** @type {keyof typeof check} */ name) => (/** @type {string} */ value) =>
    setCheck({ ...check, [name]: value });
  const submit = async () => {
    const health = checkOf(check);
    // An unchanged value is not sent: it may come from the template.
    const patch = {
      ...(script !== (space.startup_script_id ?? '') && { startup_script_id: script || null }),
      ...(!sameCheck(health, was) && { health_check: health }),
    };
    onChanged(await api.patch(`/api/spaces/${space.id}`, patch));
    toast('Settings saved');
    onClose();
  };
  const options = [
    { value: '', label: 'None' },
    ...scripts.map((one) => ({ value: one.id, label: one.owner === 'global' ? `${one.name} (global)` : one.name })),
  ];
  if (script && !scripts.some((one) => one.id === script)) options.push({ value: script, label: script });
  return html`
    <${Dialog} title="Edit settings" onClose=${onClose}>
      <${Form} submit="Save settings" onSubmit=${submit} onCancel=${onClose}>
        <${Select} label="Startup script" value=${script} onInput=${setScript} options=${options}
          hint="The agent runs it when it starts next." />
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
      </${Form}>
    </${Dialog}>
  `;
}

/** Only the members that the type allows. @param {Record<string, string>} check */
function checkOf({ type, port, url, command, interval_seconds: interval, timeout_seconds: timeout, failures }) {
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
const sameCheck = (one, other) =>
  ['type', 'port', 'url', 'command', 'interval_seconds', 'timeout_seconds', 'failures'].every(
    (name) => one[name] === other[name],
  );
