/** Descriptions in Markdown, as elements. HTML in the text is shown as text, and links must be http or https. */
import { safeLink } from '../lib/format.js';
import { html } from '../lib/preact.js';

/** Longer texts are shown as they are. */
const LONGEST = 4_000;
const MARKS = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]{1,200})\]\(([^)\s]{1,500})\)/g;

/**
 * Code, strong text and links within a line. Other markup is not interpreted.
 * @param {string} text
 */
export function inlineMarkdown(text) {
  if (text.length > LONGEST) return text;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    const [whole, code, strong, label, address] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    const link = safeLink(address);
    if (code !== undefined) parts.push(html`<code key=${end}>${code}</code>`);
    else if (strong !== undefined) parts.push(html`<strong key=${end}>${strong}</strong>`);
    else if (link) parts.push(html`<a key=${end} href=${link} rel="noreferrer noopener" target="_blank">${label}</a>`);
    else parts.push(whole);
  }
  return [...parts, text.slice(end)];
}
