import { formatNumber } from '../lib/format.js';
import { highlight } from '../lib/highlight.js';
import { cx, html, useMemo } from '../lib/preact.js';
import { CopyButton } from './button.js';

/** Limit of characters shown; longer texts would slow the browser down. */
const MOST_SHOWN = 200_000;

/**
 * Preformatted text with a button to copy it.
 * @param {object} props
 * @param {string} props.text
 * @param {import('../lib/highlight.js').Language} [props.language]
 * @param {string} [props.label] the name of the text, for the copy button and screen readers
 * @param {boolean} [props.prompt] a command: shown with a leading `$`, copied without it
 * @param {boolean} [props.wrap]
 * @param {boolean} [props.tall] no limit of height
 * @param {boolean} [props.copy]
 */
export function CodeBlock({ text, language, label = 'text', prompt, wrap, tall, copy = true }) {
  const shown = text.slice(0, MOST_SHOWN);
  const content = useMemo(
    () => (language ? tokens(shown, language) : prompt ? words(shown) : shown),
    [shown, language, prompt],
  );
  return html`
    <div class=${cx('code-block', prompt && 'code-prompt', wrap && 'code-wrap', tall && 'code-tall')}>
      <pre tabindex="0" role="region" aria-label=${label}><code>${content}</code></pre>
      ${copy && html`<${CopyButton} text=${text} label=${`Copy ${label}`} />`}
    </div>
    ${
      shown.length < text.length &&
      html`
        <p class="hint">
          The first ${formatNumber(MOST_SHOWN)} of ${formatNumber(text.length)} characters are
          shown. ${copy && 'The button copies all of them.'}
        </p>
      `
    }
  `;
}

/**
 * @param {string} text
 * @param {import('../lib/highlight.js').Language} language
 */
export function tokens(text, language) {
  return highlight(text, language).map(([kind, part], index) =>
    kind ? html`<span key=${index} class=${`tok-${kind}`}>${part}</span>` : part,
  );
}

/** Prevents line breaks after the hyphens of `--flag`. @param {string} text */
function words(text) {
  return text
    .split(/(\s+)/)
    .map((part, index) => (part.startsWith('-') ? html`<span key=${index} class="nowrap">${part}</span>` : part));
}
