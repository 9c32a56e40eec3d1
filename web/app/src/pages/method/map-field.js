/** An object with free keys: one row per key. */
import { html, useContext, useState } from '../../lib/preact.js';
import { Button, IconButton } from '../../ui/button.js';
import { TextInput } from '../../ui/field.js';
import { FormContext } from './form-context.js';
import { Group } from './group.js';
import { initialOf } from './schema.js';

/** Limit of rows shown; further members can be edited in the JSON only. */
const MOST_ROWS = 100;

/** @param {import('./fields.js').FieldProps} props */
export function MapField({ name, path, shape, required, value, onChange, error }) {
  const { root, Field } = useContext(FormContext);
  const [key, setKey] = useState('');
  const part = shape.schema.additionalProperties;
  const members = Object.entries(value ?? {});
  const taken = members.some(([known]) => known === key);
  const write = (/** @type {[string, any][]} */ next) =>
    onChange(next.length === 0 && !required ? undefined : Object.fromEntries(next));
  const add = () => {
    write([...members, [key, initialOf(part, root) ?? null]]);
    setKey('');
  };
  return html`
    <${Group} name=${name} shape=${shape} required=${required} error=${error}>
      ${members.slice(0, MOST_ROWS).map(
        ([known, one]) => html`
          <div class="schema-item" key=${known}>
            <div class="grow">
              <${Field} name=${known} path=${`${path}/${known}`} part=${part} required value=${one}
                onChange=${(/** @type {any} */ next) =>
                  write(members.map(([at, old]) => [at, at === known ? (next ?? null) : old]))} />
            </div>
            <${IconButton} icon="trash" label=${`Remove ${known} of ${name}`}
              onClick=${() => write(members.filter(([at]) => at !== known))} />
          </div>
        `,
      )}
      ${members.length > MOST_ROWS && html`<p class="hint">${members.length - MOST_ROWS} more are in the JSON.</p>`}
      <div class="schema-new-key">
        <${TextInput} label=${`New key of ${name}`} mono autocomplete="off" value=${key} onInput=${setKey}
          error=${taken ? 'This key exists already.' : ''} />
        <${Button} size="small" icon="plus" disabled=${key === '' || taken} onClick=${add}>Add key</${Button}>
      </div>
    </${Group}>
  `;
}
