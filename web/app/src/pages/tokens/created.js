/** A new token, shown once, with instructions. */
import { html } from '../../lib/preact.js';
import { CodeBlock } from '../../ui/code-block.js';
import { SecretDialog } from '../../ui/secret-once.js';

/** @import { Token } from 'api' */

/** @param {{token: Token, onClose: () => void}} props */
export function CreatedDialog({ token, onClose }) {
  return html`
    <${SecretDialog} title=${`Token ${token.name}`} secret=${token.token ?? ''} label="token" onClose=${onClose}>
      <${Usage} token=${token} />
    </${SecretDialog}>
  `;
}

/** @param {{token: Token}} props */
function Usage({ token }) {
  if (token.scopes.length === 1 && token.scopes[0] === 'mcp') {
    return html`
      <p class="muted">
        Add this token to your MCP client. The page MCP has a <a href="/tools">prepared configuration</a>.
      </p>
    `;
  }
  const command = token.scopes.length ? 'svc method list' : 'svc whoami';
  return html`
    <div class="stack-small">
      <p class="muted">Try it, with the command line or with any HTTP client:</p>
      <${CodeBlock} label="command" prompt text=${`SVC_URL=${location.origin} SVC_TOKEN=${token.token} ${command}`} />
      <${CodeBlock} label="curl command" prompt
        text=${`curl -sS ${location.origin}/api/methods -H "Authorization: Bearer ${token.token}"`} />
    </div>
  `;
}
