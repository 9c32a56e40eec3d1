import { useDebounced } from '../lib/debounced.js';
import { html, useId } from '../lib/preact.js';
import { Icon } from './icon.js';

/**
 * A search field that calls `onSearch` when typing pauses.
 * @param {{label: string, value: string, onSearch: (text: string) => void, placeholder?: string, class?: string}} props
 */
export function SearchInput({ label, value, onSearch, placeholder = label, class: className = '' }) {
  const id = useId();
  const [text, setText] = useDebounced(value, onSearch);
  return html`
    <div class=${`search ${className}`} role="search">
      <label class="visually-hidden" for=${id}>${label}</label>
      <${Icon} name="search" />
      <input id=${id} class="input" type="search" value=${text} placeholder=${placeholder} autocomplete="off"
        spellcheck=${false} onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />
    </div>
  `;
}
