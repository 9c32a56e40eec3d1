/** Fields for a value of one of several schemas, and for a list of constants. */
import { sameJson } from '../../lib/exact.js';
import { html, useContext, useState } from '../../lib/preact.js';
import { Select } from '../../ui/field.js';
import { Icon } from '../../ui/icon.js';
import { variantLabel } from './check.js';
import { FormContext } from './form-context.js';
import { Hint } from './hint.js';
import { bestVariant } from './problems.js';
import { initialOf, resolve, variantsOf } from './schema.js';
import { matchesVariant } from './variant-match.js';

/** The user picks a schema by its label, and fills in its field. @param {import('./fields.js').FieldProps} props */
export function VariantField({ name, path, shape, required, value, onChange, error }) {
  const { root, Field } = useContext(FormContext);
  const variants = variantsOf(shape.schema, root);
  const [picked, setPicked] = useState(-1);
  // The chosen variant stays selected while the value matches it. The JSON editor may change the value to another
  // variant.
  const holds = picked >= 0 && (value === undefined || matchesVariant(variants[picked], root, value));
  const at = holds ? picked : value === undefined ? -1 : bestVariant(variants, root, value);
  const pick = (/** @type {string} */ text) => {
    const index = text === '' ? -1 : Number(text);
    setPicked(index);
    onChange(index < 0 ? undefined : initialOf(variants[index], root));
  };
  // Editing a field of a variant chooses the variant: otherwise, an incomplete value could select another one.
  const edit = (/** @type {any} */ next) => {
    setPicked(at);
    onChange(next);
  };
  const options = [
    { value: '', label: required ? 'Choose' : 'not set' },
    ...variants.map((part, index) => ({ value: String(index), label: variantLabel(part, index, root) })),
  ];
  return html`
    <div class="schema-variant">
      <${Select} label=${name} hint=${html`<${Hint} shape=${shape} required=${required} />`} options=${options}
        value=${at < 0 ? '' : String(at)} onInput=${pick} aria-required=${required} />
      ${error && html`<p class="field-error"><${Icon} name="alert" size=${14} /> ${error}</p>`}
      ${
        at >= 0 &&
        html`
          <${Field} key=${at} name=${`${name}: ${variantLabel(variants[at], at, root)}`} path=${`${path}/${at}`}
            part=${variants[at]} required value=${value} onChange=${edit} />
        `
      }
    </div>
  `;
}

/** Checkboxes for a list of constants. @param {import('./fields.js').FieldProps} props */
export function SetField({ name, shape, required, value, onChange, error }) {
  const { root } = useContext(FormContext);
  const choices = resolve(shape.schema.items, root).enum;
  const items = value ?? [];
  const has = (/** @type {any} */ choice) => items.some((/** @type {any} */ item) => sameJson(item, choice));
  const toggle = (/** @type {any} */ choice) => {
    // The chosen constants, in the order of the schema.
    const next = choices.filter((/** @type {any} */ one) => has(one) !== sameJson(one, choice));
    onChange(next.length === 0 && !required ? undefined : next);
  };
  return html`
    <fieldset class="schema-set">
      <legend class="label mono">${name}</legend>
      <p class="hint"><${Hint} shape=${shape} required=${required} /></p>
      ${error && html`<p class="field-error"><${Icon} name="alert" size=${14} /> ${error}</p>`}
      <div class="row">
        ${choices.map(
          (/** @type {any} */ choice, /** @type {number} */ index) => html`
            <label key=${index} class="schema-set-item">
              <input type="checkbox" checked=${has(choice)} onChange=${() => toggle(choice)} />
              <span class="mono">${typeof choice === 'string' ? choice : JSON.stringify(choice)}</span>
            </label>
          `,
        )}
      </div>
    </fieldset>
  `;
}
