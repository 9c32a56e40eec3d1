import { useDebounced } from '../lib/debounced.js';
import { html, useId } from '../lib/preact.js';
import { Icon } from './icon.js';

/**
 * A search field that calls `onSearch` when typing pauses.
 * @param {{label: string, value: string, onSearch: (text: string) => void, placeholder?: string, class?: string,
 *   landmark?: boolean}} props `landmark`: false for a search inside a part of the page, of which there may be several
 */
export function SearchInput({ label, value, onSearch, placeholder = label, class: className = '', landmark = true }) {
  const id = useId();
  const [text, setText] = useDebounced(value, onSearch);
  return html`
    <div class=${`search ${className}`} role=${landmark ? 'search' : undefined}>
      <label class="visually-hidden" for=${id}>${label}</label>
      <${Icon} name="search" />
      <input id=${id} class="input" type="search" value=${text} placeholder=${placeholder} autocomplete="off"
        spellcheck=${false} onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />
    </div>
  `;
}
