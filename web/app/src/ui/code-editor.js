/**
 * A textarea above a highlighted copy of its text. The text of the textarea is transparent. Caret, selection, undo and
 * screen reader support are the browser's. This module handles Tab, Enter and Escape.
 */
import { highlight } from '../lib/highlight.js';
import { cutLines, widestLine } from '../lib/lines.js';
import { cx, html, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { Field } from './field.js';

/**
 * If a text has more lines than this, only the lines near the visible part get elements. More elements would make
 * typing slow.
 */
const WHOLE_MAX = 300;
/**
 * At least this many lines above and below the visible part also get elements. While the user scrolls, the lines with
 * elements change in steps of this size.
 */
const MARGIN = 60;

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
  const [top, setTop] = useState(0);
  const from = lines > WHOLE_MAX ? Math.max(0, top - MARGIN) : 0;
  const to = lines > WHOLE_MAX ? Math.min(lines, top + maxRows + 2 * MARGIN) : lines;
  const coloured = useMemo(() => colour(value, language, from, to), [value, language, from, to]);
  const height = Math.min(Math.max(lines, rows), maxRows);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const gutter = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (box.current) box.current.style.height = `calc(${height} * var(--code-line) + 1.5rem + 2px)`;
  }, [height]);
  // The lines that have no elements keep their space.
  useEffect(() => {
    for (const part of [gutter.current, shown.current]) {
      if (!part) continue;
      part.style.paddingTop = `calc(0.75rem + ${from} * var(--code-line))`;
      part.style.paddingBottom = `calc(0.75rem + ${lines - to} * var(--code-line))`;
    }
    if (gutter.current) gutter.current.style.minWidth = `calc(${String(lines).length}ch + 1.375rem + 1px)`;
  }, [from, to, lines]);
  const width = useMemo(() => (lines > WHOLE_MAX ? widestLine(value) : 0), [value]);
  useEffect(() => {
    if (shown.current) shown.current.style.minWidth = width ? `calc(${width}ch + 1.75rem)` : '';
  }, [width]);
  const onScroll = (/** @type {Event} */ event) => {
    const frame = /** @type {HTMLElement} */ (event.currentTarget);
    const line = Math.floor(frame.scrollTop / Number.parseFloat(getComputedStyle(frame).lineHeight));
    setTop(line - (line % MARGIN));
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
        <div class=${cx('editor', error && 'editor-invalid')} ref=${box} onScroll=${onScroll}>
          <div class="editor-gutter" aria-hidden="true" ref=${gutter}>
            ${Array.from({ length: to - from }, (_, index) => from + index + 1).map(
              (line) =>
                html`<span key=${line} class=${line === errorLine ? 'editor-error-line' : undefined}>${line}</span>`,
            )}
          </div>
          <div class="editor-text">
            <pre aria-hidden="true" ref=${shown}><code>${coloured}${'\n'}</code></pre>
            <textarea value=${value} readonly=${readOnly} spellcheck=${false} autocapitalize="off" autocomplete="off"
              wrap="off" onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)} onKeyDown=${onKey}
              onFocus=${() => (escaped.current = false)} ...${wiring}></textarea>
          </div>
        </div>
      `}
    </${Field}>
  `;
}

/**
 * The highlighted lines from `from` to `to` (exclusive). The text is read from its start, because a string may begin
 * far above these lines.
 * @param {string} text
 * @param {import('../lib/highlight.js').Language | undefined} language
 * @param {number} from
 * @param {number} to
 */
function colour(text, language, from, to) {
  if (!language) return cutLines([['', text]], from, to).map(([, part]) => part);
  return cutLines(highlight(text, language), from, to).map(([kind, part], index) =>
    kind ? html`<span key=${index} class=${`tok-${kind}`}>${part}</span>` : part,
  );
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
