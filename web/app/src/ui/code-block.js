import { formatNumber } from '../lib/format.js';
import { highlight } from '../lib/highlight.js';
import { cx, html, useMemo } from '../lib/preact.js';
import { CopyButton } from './button.js';

/** Characters shown; more would keep the browser busy, and nobody reads them here. */
const MOST_SHOWN = 200_000;

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

/** A command does not break inside `--flag`, behind its hyphens. @param {string} text */
function words(text) {
  return text
    .split(/(\s+)/)
    .map((part, index) => (part.startsWith('-') ? html`<span key=${index} class="nowrap">${part}</span>` : part));
}
