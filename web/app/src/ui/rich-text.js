import { html } from '../lib/preact.js';

/**
 * Renders values in backticks as code, as in the server's messages. Other markup is not interpreted.
 * @param {string} text
 */
export function withCode(text) {
  return String(text)
    .split(/`([^`\n]+)`/)
    .map((part, index) => (index % 2 ? html`<code key=${index}>${part}</code>` : part));
}
