/** Creates a token and shows the configuration of a client with it. */
import { api } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { Button, CopyButton } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Notice } from '../../ui/error-notice.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { withCode } from '../../ui/rich-text.js';
import { toast } from '../../ui/toasts.js';
import { ExpiryFields, useExpiry } from '../tokens/expiry.js';
import { exportCommand } from './clients.js';

/** @import { Token } from 'api' */

/**
 * @param {{client: import('./clients.js').Client, name: string, url: string, search: boolean, token: Token | null,
 *   onToken: (token: Token | null) => void}} props
 */
export function TokenSteps({ client, name, url, search, token, onToken }) {
  const named = name === 'svc' ? '' : ` --name ${name}`;
  const command = `svc mcp config --client ${client.id}${named} --create-token${search ? ' --search' : ''}`;
  return html`
    <ol class="mcp-steps">
      <li>
        <h3>Token</h3>
        <${TokenStep} key=${`${client.id} ${name}`} suggested=${`mcp ${client.id} ${name}`} token=${token}
          onToken=${onToken} />
      </li>
      <li>
        <h3>Configuration</h3>
        <${Configuration} client=${client} entry=${{ name, url, token: token?.token ?? null }} />
      </li>
    </ol>
    <p class="muted small mcp-command">
      The same with the command line: <code>${command}</code> <${CopyButton} text=${command} label="Copy command" />
    </p>
  `;
}

/** @param {{suggested: string, token: Token | null, onToken: (token: Token | null) => void}} props */
function TokenStep({ suggested, token, onToken }) {
  const [open, setOpen] = useState(false);
  if (token) {
    return html`
      <div role="status">
        <${Notice} tone="good" icon="check" title=${html`Token <span class="mono">${token.name}</span> created`}>
          <p>
            It is in the configuration below and is not shown again once you leave this page. It opens the MCP endpoint
            and nothing else; <a href="/tokens">revoke it</a> at any time.
          </p>
          <div class="actions mcp-made">
            <${CopyButton} text=${token.token}>Copy token</${CopyButton}>
            <${Button} onClick=${() => onToken(null)}>Create another</${Button}>
          </div>
        </${Notice}>
      </div>
    `;
  }
  if (open) return html`<${TokenForm} suggested=${suggested} onToken=${onToken} onCancel=${() => setOpen(false)} />`;
  return html`
    <div class="stack-small">
      <p class="muted">
        A token with the scope <code>mcp</code> opens only the endpoint. Create one, and the configuration contains it.
      </p>
      <div><${Button} kind="primary" icon="key" onClick=${() => setOpen(true)}>Create an MCP token</${Button}></div>
    </div>
  `;
}

/** @param {{suggested: string, onToken: (token: Token) => void, onCancel: () => void}} props */
function TokenForm({ suggested, onToken, onCancel }) {
  const [name, setName] = useState(suggested);
  const expiry = useExpiry('never');
  const submit = async () => {
    onToken(await api.post('/api/tokens', { name: name.trim(), scopes: ['mcp'], expires_in_days: expiry.days() }));
    toast('Token created');
    // The pressed button is gone, so focus the element that replaced it.
    requestAnimationFrame(() =>
      /** @type {HTMLElement | null} */ (document.querySelector('.mcp-made button'))?.focus(),
    );
  };
  return html`
    <${Form} submit="Create token" class="mcp-token-form" onSubmit=${submit} onCancel=${onCancel}>
      <${TextInput} label="Token name" value=${name} onInput=${setName} autocomplete="off" maxlength="64" required
        autofocus />
      <${ExpiryFields} expiry=${expiry} />
    </${Form}>
  `;
}

/** @param {{client: import('./clients.js').Client, entry: import('./clients.js').Entry}} props */
function Configuration({ client, entry }) {
  const { token } = client;
  if (!token) return null;
  return html`
    <div class="stack-small">
      <p class="muted">${withCode(token.place)} ${entry.token === null && withCode(token.missing)}</p>
      <${CodeBlock} text=${token.write(entry)} language=${token.language} label=${`${client.label} configuration`}
        wrap tall />
      ${
        client.id === 'codex' &&
        entry.token !== null &&
        html`
          <p class="muted">Codex reads tokens only from variables. Set the variable where Codex starts:</p>
          <${CodeBlock} text=${exportCommand(entry.token)} label="variable" prompt />
        `
      }
    </div>
  `;
}
