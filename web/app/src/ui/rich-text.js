import { html } from '../lib/preact.js';

/**
 * The server's messages put values in backticks; here those become code. Nothing else is read into
 * the text.
 * @param {string} text
 */
export function withCode(text) {
  return String(text)
    .split(/`([^`\n]+)`/)
    .map((part, index) => (index % 2 ? html`<code key=${index}>${part}</code>` : part));
}
