import { html, useState } from '../lib/preact.js';
import { Button, CopyButton } from './button.js';
import { CodeBlock } from './code-block.js';
import { Dialog } from './dialog.js';
import { Notice } from './error-notice.js';

/**
 * A secret that the server shows once: in a box, with copy and a warning.
 * @param {{secret: string, label?: string, children?: any}} props
 */
function SecretOnce({ secret, label = 'token', children }) {
  return html`
    <div class="stack">
      <${Notice} tone="warn" icon="alert" title=${`Copy the ${label} now`}>
        <p>It is not shown again.</p>
      </${Notice}>
      <${CodeBlock} text=${secret} label=${label} wrap copy=${false} />
      <div class="actions">
        <${CopyButton} text=${secret} label=${`Copy ${label}`} kind="primary">Copy ${label}</${CopyButton}>
      </div>
      ${children}
    </div>
  `;
}

/**
 * A secret that the server shows once, in a dialog that closes only by its button.
 * @param {{title: any, secret: string, label?: string, onClose: () => void, children?: any}} props
 */
export function SecretDialog({ title, secret, label, onClose, children }) {
  const [shown] = useState(secret);
  return html`
    <${Dialog} title=${title} onClose=${onClose} locked wide
      footer=${html`<${Button} kind="primary" onClick=${onClose}>Done</${Button}>`}>
      <${SecretOnce} secret=${shown} label=${label}>${children}</${SecretOnce}>
    </${Dialog}>
  `;
}
