/** The command that starts the agent of a space, with its token, and the state of the link. */
import { at } from '../../lib/api.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Notice } from '../../ui/error-notice.js';

/** @param {string} token */
const agentCommand = (token) => `SVC_URL=${location.origin} SVC_AGENT_TOKEN=${token} svc agent start`;

/**
 * The token is shown once, so the dialog can be closed only with its buttons.
 * @param {{title: string, space: {id: string, name: string}, token: string, onClose: () => void}} props
 */
export function AgentDialog({ title, space, token, onClose }) {
  const { data } = useResource(at('/api/spaces/{id}', { id: space.id }), { every: 1_500 });
  const footer = html`
    <${Button} href=${`/spaces/${space.id}`} onClick=${onClose}>Open the space</${Button}>
    <${Button} kind="primary" onClick=${onClose}>Done</${Button}>
  `;
  return html`
    <${Dialog} title=${title} onClose=${onClose} locked wide footer=${footer}>
      <div class="stack">
        <${Notice} tone="warn" icon="alert" title="Copy the command now">
          <p>The agent token in it is not shown again. Treat it like a password.</p>
        </${Notice}>
        <div class="stack-small">
          <p>Run this where the methods are to run:</p>
          <${CodeBlock} text=${agentCommand(token)} label="agent command" prompt />
        </div>
        <div class="stack-small">
          <p class="muted">To publish methods at once, name their file:</p>
          <${CodeBlock} text=${`${agentCommand(token)} --methods-file methods.toml`} label="agent command with methods"
            prompt />
        </div>
        <p role="status">
          ${
            data?.linked
              ? html`<${Status} tone="good">The agent is linked</${Status}>`
              : html`
                <${Status} tone="accent" pulse>
                  Waiting for the agent of <span class="mono">${space.name}</span> to link…
                </${Status}>
              `
          }
        </p>
      </div>
    </${Dialog}>
  `;
}
