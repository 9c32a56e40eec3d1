/** The stated hints of a tool. */
import { html } from '../lib/preact.js';
import { Badge } from './badge.js';

/** @param {{words: string[]}} props */
export function HintBadges({ words }) {
  return html`<span class="row">${words.map((word) => html`<${Badge} key=${word}>${word}</${Badge}>`)}</span>`;
}
