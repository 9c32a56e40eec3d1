import { html, useEffect, useId, useRef, useState } from '../lib/preact.js';
import { Icon } from './icon.js';

/** Typing pauses for this long before the question is asked. */
const SETTLE_MS = 200;

/**
 * A search field. It keeps what is typed to itself and tells `onSearch` once typing pauses.
 * @param {{label: string, value: string, onSearch: (text: string) => void, placeholder?: string, class?: string}} props
 */
export function SearchInput({ label, value, onSearch, placeholder = label, class: className = '' }) {
  const id = useId();
  const [text, setText] = useState(value);
  const said = useRef(value);
  useEffect(() => {
    if (value === said.current) return;
    said.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === said.current) return undefined;
    const timer = setTimeout(() => {
      said.current = text;
      onSearch(text);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`
    <div class=${`search ${className}`} role="search">
      <label class="visually-hidden" for=${id}>${label}</label>
      <${Icon} name="search" />
      <input id=${id} class="input" type="search" value=${text} placeholder=${placeholder} autocomplete="off" spellcheck=${false}
        onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />
    </div>
  `;
}
