/** The settings of a space: health check and startup script. */
import { api, at, withQuery } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';
import { Card, KeyValue } from '../../ui/card.js';
import { Dialog } from '../../ui/dialog.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { checkOf, checkText, draftOfCheck, HealthFields, StartupField, sameCheck } from '../spaces/fields.js';

/** @import { Space } from 'api' */

/** @param {{space: Space, onChanged: (space: Space) => void}} props */
export function SettingsCard({ space, onChanged }) {
  const [editing, setEditing] = useState(false);
  const scripts = useResource(withQuery('/api/scripts', { kind: 'startup', limit: 1000 }));
  const script = scripts.data?.scripts.find((one) => one.id === space.startup_script_id);
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

/**
 * @param {{space: Space, scripts: {id: string, name: string, owner: string}[], onClose: () => void, onChanged: (space:
 *   Space) => void}} props
 */
function SettingsDialog({ space, scripts, onClose, onChanged }) {
  const was = space.health_check;
  const [script, setScript] = useState(space.startup_script_id ?? '');
  const [check, setCheck] = useState(() => draftOfCheck(was));
  const submit = async () => {
    const health = checkOf(check);
    // An unchanged value is not sent: it may come from the template.
    const patch = {
      ...(script !== (space.startup_script_id ?? '') && { startup_script_id: script || null }),
      ...(!sameCheck(health, was) && { health_check: health }),
    };
    onChanged(await api.patch(at('/api/spaces/{id}', { id: space.id }), patch));
    toast('Settings saved');
    onClose();
  };
  return html`
    <${Dialog} title="Edit settings" onClose=${onClose}>
      <${Form} submit="Save settings" onSubmit=${submit} onCancel=${onClose}>
        <${StartupField} scripts=${scripts} value=${script} onInput=${setScript}
          hint="The agent runs this script at its next start." />
        <${HealthFields} check=${check} onChange=${setCheck} />
      </${Form}>
    </${Dialog}>
  `;
}
