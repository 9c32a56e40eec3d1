/** The dialog that creates a space. */
import { api, withQuery } from '../../lib/api.js';
import { localSpaces } from '../../lib/me.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Dialog } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Select, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';

/** @import { Space } from 'api' */

/** @param {{onClose: () => void, onMade: (space: Space) => void}} props */
export function NewSpaceDialog({ onClose, onMade }) {
  const templates = useResource(withQuery('/api/templates', { limit: 1000 }));
  const scripts = useResource(withQuery('/api/scripts', { kind: 'startup', limit: 1000 }));
  const [name, setName] = useState('');
  const [template, setTemplate] = useState('');
  const [script, setScript] = useState('');
  const [runtime, setRuntime] = useState('external');
  const submit = async () => {
    const body = {
      name: name.trim(),
      ...(template && { template_id: template }),
      ...(script && { startup_script_id: script }),
      ...(runtime === 'local' && { runtime }),
    };
    onMade(await api.post('/api/spaces', body));
  };
  const chosen = templates.data?.templates.find((one) => one.id === template);
  return html`
    <${Dialog} title="New space" onClose=${onClose}>
      <${Form} submit="Create space" onSubmit=${submit} onCancel=${onClose}>
        <${TextInput} label="Name" value=${name} onInput=${setName} mono required autofocus autocomplete="off"
          maxlength="32" hint="It cannot be changed later. Names of methods may contain it." />
        <${Select} label="Template" value=${template} onInput=${setTemplate}
          hint=${chosen ? templateText(chosen) : 'Shared ports, health check and startup script.'}
          options=${[{ value: '', label: 'None' }, ...(templates.data?.templates ?? []).map(named)]} />
        <${ErrorNotice} error=${templates.error} title="Templates could not be loaded" />
        <${Select} label="Startup script" value=${script} onInput=${setScript} hint="The agent runs it at each start."
          options=${[
            { value: '', label: chosen?.startup_script_id ? 'As the template says' : 'None' },
            ...(scripts.data?.scripts ?? []).map(named),
          ]} />
        ${
          localSpaces.value &&
          html`
            <${Select} label="Who starts its agent" value=${runtime} onInput=${setRuntime}
              options=${[
                { value: 'external', label: 'I do, with a command' },
                { value: 'local', label: 'This server, as its child process' },
              ]} />
          `
        }
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{id: string, name: string, owner?: string}} one */
const named = (one) => ({ value: one.id, label: one.owner === 'global' ? `${one.name} (global)` : one.name });

/** @param {{ports: {name: string, port: number}[], health_check: {type: string} | null}} template */
function templateText(template) {
  const ports = template.ports.map((port) => `${port.name} ${port.port}`).join(', ');
  const check =
    template.health_check && template.health_check.type !== 'none'
      ? `health check ${template.health_check.type}`
      : 'no health check';
  return `${ports ? `Ports: ${ports}` : 'No ports'}; ${check}.`;
}
