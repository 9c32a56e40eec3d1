/**
 * A textarea above a highlighted copy of its text. The text of the textarea is transparent; caret, selection, undo, key
 * handling and screen reader support are the browser's.
 */
import { cx, html, useMemo, useRef } from '../lib/preact.js';
import { tokens } from './code-block.js';
import { Field } from './field.js';

/**
 * @param {object} props
 * @param {any} props.label
 * @param {string} props.value
 * @param {(text: string) => void} props.onInput
 * @param {import('../lib/highlight.js').Language} [props.language]
 * @param {boolean} [props.hideLabel]
 * @param {any} [props.hint]
 * @param {any} [props.error]
 * @param {number | null} [props.errorLine] marked in the margin
 * @param {number} [props.rows] lines visible without scrolling; the editor grows up to `maxRows`
 * @param {number} [props.maxRows]
 * @param {boolean} [props.readOnly]
 * @param {() => void} [props.onSubmit] called on Ctrl+Enter or Cmd+Enter
 */
export function CodeEditor({
  label,
  value,
  onInput,
  language,
  hideLabel,
  hint,
  error,
  errorLine,
  rows = 8,
  maxRows = 32,
  readOnly,
  onSubmit,
}) {
  const escaped = useRef(false);
  const lines = useMemo(() => value.split('\n').length, [value]);
  const coloured = useMemo(() => (language ? tokens(value, language) : value), [value, language]);
  const height = Math.min(Math.max(lines, rows), maxRows);
  const setHeight = (/** @type {HTMLElement | null} */ box) => {
    if (box) box.style.height = `calc(${height} * var(--code-line) + 1.5rem + 2px)`;
  };
  const note = readOnly
    ? hint
    : html`${hint}${hint ? ' ' : ''}<span class="editor-keys">Tab indents; Escape, then Tab leaves the field.</span>`;

  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const field = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && onSubmit) {
      event.preventDefault();
      onSubmit();
    } else if (event.key === 'Escape') {
      // In a dialog the first Escape lets Tab leave the field, the second one closes the dialog.
      if (!escaped.current) event.preventDefault();
      escaped.current = true;
    } else if (event.key === 'Tab' && !escaped.current && !readOnly) {
      event.preventDefault();
      indent(field, language === 'python' ? 4 : 2, event.shiftKey);
    } else if (event.key === 'Enter' && !readOnly) {
      event.preventDefault();
      breakLine(field, language);
    } else if (event.key !== 'Shift') escaped.current = false;
  };

  return html`
    <${Field} ...${{ label, hideLabel, hint: note, error, class: 'editor-field' }}>
      ${(/** @type {any} */ wiring) => html`
        <div class=${cx('editor', error && 'editor-invalid')} ref=${setHeight}>
          <div class="editor-gutter" aria-hidden="true">
            ${Array.from(
              { length: lines },
              (_, index) =>
                html`
                  <span key=${index} class=${index + 1 === errorLine ? 'editor-error-line' : undefined}>
                    ${index + 1}
                  </span>
                `,
            )}
          </div>
          <div class="editor-text">
            <pre aria-hidden="true"><code>${coloured}${'\n'}</code></pre>
            <textarea value=${value} readonly=${readOnly} spellcheck=${false} autocapitalize="off" autocomplete="off"
              wrap="off" onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)} onKeyDown=${onKey}
              onFocus=${() => (escaped.current = false)} ...${wiring}></textarea>
          </div>
        </div>
      `}
    </${Field}>
  `;
}

/** Edits through the browser's editing command, so that undo works. @param {string} text */
function insert(text) {
  document.execCommand(text ? 'insertText' : 'delete', false, text);
}

/**
 * @param {HTMLTextAreaElement} field
 * @param {number} width
 * @param {boolean} back
 */
function indent(field, width, back) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  const from = value.lastIndexOf('\n', start - 1) + 1;
  if (!back && !value.slice(start, end).includes('\n')) return insert(' '.repeat(width - ((start - from) % width)));
  const block = value.slice(from, end);
  const moved = back
    ? block.replace(new RegExp(`^ {1,${width}}`, 'gm'), '')
    : block.replace(/^(?=.)/gm, ' '.repeat(width));
  if (moved === block) return undefined;
  field.setSelectionRange(from, end);
  insert(moved);
  if (start === end)
    field.setSelectionRange(
      Math.max(from, start - (block.length - moved.length)),
      Math.max(from, start - (block.length - moved.length)),
    );
  else field.setSelectionRange(from, from + moved.length);
  return undefined;
}

/**
 * Inserts a line with the indentation of the current one, plus one step after the start of a block.
 * @param {HTMLTextAreaElement} field
 * @param {string} [language]
 */
function breakLine(field, language) {
  const before = field.value.slice(0, field.selectionStart);
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const deeper = language === 'python' ? /:\s*(#.*)?$/.test(line) : /[[{]\s*$/.test(line);
  const step = deeper ? ' '.repeat(language === 'python' ? 4 : 2) : '';
  insert(`\n${/^[ \t]*/.exec(line)?.[0] ?? ''}${step}`);
}
