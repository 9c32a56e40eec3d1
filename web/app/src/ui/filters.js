/** Filters of a page, which are in its address. */
import { html } from '../lib/preact.js';
import { useQuery } from '../router.js';
import { Select } from './field.js';
import { SearchInput } from './search-input.js';

/** @param {{label: string, placeholder?: string}} props */
export function QuerySearch(props) {
  const query = useQuery();
  return html`
    <${SearchInput} ...${props} value=${query.get('q')} onSearch=${(/** @type {string} */ q) => query.set({ q })} />
  `;
}

/** @param {{label: string, name: string, options: any[]}} props `name` in the address */
export function QuerySelect({ label, name, options }) {
  const query = useQuery();
  return html`
    <${Select} label=${label} hideLabel value=${query.get(name)} options=${options}
      onInput=${(/** @type {string} */ value) => query.set({ [name]: value })} />
  `;
}
