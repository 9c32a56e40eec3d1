import { html } from '../lib/preact.js';
import { CodeBlock } from './code-block.js';
import { Icon } from './icon.js';

/**
 * Shown instead of an empty list, with the next step.
 * @param {{icon?: string, title: string, children?: any, command?: string, action?: any, level?: 2 | 3}} props
 */
export function EmptyState({ icon = 'info', title, children, command, action, level = 2 }) {
  return html`
    <div class="empty">
      <span class="empty-icon"><${Icon} name=${icon} size=${22} /></span>
      <${`h${level}`} class="empty-title">${title}</${`h${level}`}>
      ${children && html`<div class="empty-text">${children}</div>`}
      ${command && html`<${CodeBlock} text=${command} label=${`command for “${title}”`} prompt />`}
      ${action && html`<div class="actions">${action}</div>`}
    </div>
  `;
}
