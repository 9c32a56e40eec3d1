/**
 * A form generated from a schema. The fields show and change parts of one value. Only a field of raw JSON also keeps
 * its text, which may be invalid.
 */
import { html, useContext } from '../../lib/preact.js';
import { Checkbox } from '../../ui/field.js';
import { valueError } from './check.js';
import { ArrayField, ObjectField } from './containers.js';
import { FormContext } from './form-context.js';
import { MapField } from './map-field.js';
import { RawField } from './raw-field.js';
import { BooleanField, ChoiceField, NumberField, StringField } from './scalars.js';
import { fits, initialOf, shapeOf } from './schema.js';
import { SetField, VariantField } from './variants.js';

/**
 * @typedef {object} FieldProps
 * @property {string} name label of the field, also for screen readers
 * @property {string} path unique path of the field
 * @property {import('./schema.js').Shape} shape
 * @property {boolean} required
 * @property {any} value undefined for a missing value
 * @property {(value: any) => void} onChange undefined removes the value
 * @property {string} error
 */

/** @type {Record<import('./schema.js').Kind, any>} */
const FIELDS = {
  choice: ChoiceField,
  string: StringField,
  integer: NumberField,
  number: NumberField,
  boolean: BooleanField,
  array: ArrayField,
  object: ObjectField,
  variants: VariantField,
  map: MapField,
  set: SetField,
  raw: RawField,
};

/**
 * @param {object} props
 * @param {string} props.name
 * @param {string} props.path
 * @param {any} props.part the schema
 * @param {boolean} props.required
 * @param {any} props.value
 * @param {(value: any) => void} props.onChange
 */
export function SchemaField({ name, path, part, required, value, onChange }) {
  const { root, tried } = useContext(FormContext);
  const shape = shapeOf(part, root);
  const isNull = shape.nullable && value === null;
  const shown = isNull || fits(shape.kind, value) ? FIELDS[shape.kind] : RawField;
  // Missing values are reported after the first attempt to call, invalid values at once.
  const error = (value === undefined || value === '') && !tried ? '' : valueError(shape, value, required, root);
  const props = { name, path, shape, required, value: isNull ? undefined : value, onChange, error, isNull };
  if (!shape.nullable) return html`<${shown} ...${props} />`;
  const toggle = (/** @type {boolean} */ on) => onChange(on ? null : afterNull(part, root, required));
  return html`
    <div class="schema-nullable">
      <${shown} ...${props} />
      <${Checkbox} label=${html`<span class="visually-hidden">${name} is </span>null`} checked=${isNull}
        onChange=${toggle} />
    </div>
  `;
}

/** @param {any} part @param {import('./schema.js').Schema} root @param {boolean} required */
function afterNull(part, root, required) {
  const first = initialOf(part, root);
  return first === null ? (required ? '' : undefined) : first;
}
