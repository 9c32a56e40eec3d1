/** The first problems of the params, for the summary before a call. */
import { kindOf } from '../../lib/exact.js';
import { valueError } from './check.js';
import { itemSchema, propertiesOf, shapeOf, variantAt, variantsOf } from './schema.js';

/** @typedef {{path: string, message: string}} Problem */

/** The maximum number of listed problems and of checked values: schema and value may be huge. */
const MOST_PROBLEMS = 20;
const MOST_VALUES = 2_000;

/**
 * @param {any} schema
 * @param {any} value
 * @returns {Problem[]}
 */
export function problemsOf(schema, value) {
  /** @type {Problem[]} */
  const found = [];
  const budget = { left: MOST_VALUES };
  const visit = (
    /** @type {any} */ part,
    /** @type {any} */ at,
    /** @type {boolean} */ required,
    /** @type {string} */ path,
  ) => {
    budget.left -= 1;
    if (budget.left < 0 || found.length >= MOST_PROBLEMS) return;
    const shape = shapeOf(part, schema);
    const message = valueError(shape, at, required, schema);
    if (message) found.push({ path: path || 'params', message });
    if (message || at === undefined || at === null) return;
    const join = (/** @type {string | number} */ name) => (path ? `${path}.${name}` : String(name));
    if (shape.kind === 'variants') {
      const variants = variantsOf(shape.schema, schema);
      visit(variants[variantAt(variants, schema, at)], at, true, path);
    } else if (shape.kind === 'array') {
      for (const [index, one] of at.entries()) visit(itemSchema(shape.schema, index), one, true, join(index + 1));
    } else if (shape.kind === 'map') {
      for (const [name, one] of Object.entries(at)) visit(shape.schema.additionalProperties, one, true, join(name));
    } else if (shape.kind === 'object' && kindOf(at) === 'object') {
      for (const [name, inner, needed] of propertiesOf(shape.schema))
        visit(inner, Object.hasOwn(at, name) ? at[name] : undefined, needed, join(name));
    }
  };
  visit(schema, value, false, '');
  return found;
}
