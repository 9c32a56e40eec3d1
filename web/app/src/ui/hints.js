/** The hints that a tool states about itself, as badges. */
import { html } from '../lib/preact.js';
import { Badge } from './badge.js';

/** @param {{words: string[]}} props */
export function HintBadges({ words }) {
  return html`<span class="row">${words.map((word) => html`<${Badge} key=${word}>${word}</${Badge}>`)}</span>`;
}
