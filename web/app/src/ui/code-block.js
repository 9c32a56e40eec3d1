import { highlight } from '../lib/highlight.js';
import { cx, html } from '../lib/preact.js';
import { CopyButton } from './button.js';

/**
 * Text as it is, with a button to copy it.
 * @param {object} props
 * @param {string} props.text
 * @param {import('../lib/highlight.js').Language} [props.language]
 * @param {string} [props.label] what it is, for the copy button and screen readers
 * @param {boolean} [props.prompt] a command: shown behind a `$`, copied without it
 * @param {boolean} [props.wrap]
 * @param {boolean} [props.tall] may be as high as its text
 * @param {boolean} [props.copy]
 */
export function CodeBlock({ text, language, label = 'text', prompt, wrap, tall, copy = true }) {
  return html`
    <div class=${cx('code-block', prompt && 'code-prompt', wrap && 'code-wrap', tall && 'code-tall')}>
      <pre tabindex="0" role="region" aria-label=${label}><code>${language ? tokens(text, language) : prompt ? words(text) : text}</code></pre>
      ${copy && html`<${CopyButton} text=${text} label=${`Copy ${label}`} />`}
    </div>
  `;
}

/**
 * @param {string} text
 * @param {import('../lib/highlight.js').Language} language
 */
export function tokens(text, language) {
  return highlight(text, language).map(([kind, part], index) => (kind ? html`<span key=${index} class=${`tok-${kind}`}>${part}</span>` : part));
}

/** A command does not break inside `--flag`, behind its hyphens. @param {string} text */
function words(text) {
  return text.split(/(\s+)/).map((part, index) => (part.startsWith('-') ? html`<span key=${index} class="nowrap">${part}</span>` : part));
}
