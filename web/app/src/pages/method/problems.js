/** The first problems of the params, for the summary before a call. */
import { valueError } from './check.js';
import { freeMembers, keyError, partOfKey } from './free-keys.js';
import { freeParts, itemSchema, propertiesOf, shapeOf, variantsOf } from './schema.js';
import { variantsAt } from './variant-match.js';

/** @typedef {{path: string, message: string}} Problem */

/** The maximum number of listed problems and of checked values: schema and value may be huge. */
const MOST_PROBLEMS = 20;
const MOST_VALUES = 2_000;
/** The maximum depth of variants in variants of one value: a schema may be a variant of itself. */
const DEEPEST_VARIANT = 8;

/**
 * @param {any} schema
 * @param {any} value
 * @returns {Problem[]}
 */
export function problemsOf(schema, value) {
  const found = new Search(schema).visit(schema, value);
  return found.slice(0, MOST_PROBLEMS);
}

/**
 * The index of the variant for the value: the first one without problems, or else the best match; -1 if the value
 * matches no variant.
 * @param {any[]} variants
 * @param {import('./schema.js').Schema} root
 * @param {any} value
 */
export function bestVariant(variants, root, value) {
  return new Search(root).ofVariants(variants, value).index;
}

/** A search for problems. It ends after a number of values. */
class Search {
  #left = MOST_VALUES;

  /** @param {any} root the target of references */
  constructor(root) {
    this.root = root;
  }

  /**
   * @param {any} part the schema of the value
   * @param {any} value
   * @param {{required?: boolean, path?: string, depth?: number}} [at] `depth`: the number of variants around the
   *   schema, for the same value
   * @param {Problem[]} [found] problems that were found before; the problems of the value are added
   */
  visit(part, value, { required = false, path = '', depth = 0 } = {}, found = []) {
    this.#left -= 1;
    if (this.#left < 0 || found.length >= MOST_PROBLEMS) return found;
    const shape = shapeOf(part, this.root);
    const message = valueError(shape, value, required, this.root);
    if (message) found.push({ path: path || 'params', message });
    if (message || value === undefined || value === null) return found;
    const visit = (
      /** @type {any} */ inner,
      /** @type {any} */ one,
      /** @type {string | number} */ name,
      needed = true,
    ) => this.visit(inner, one, { required: needed, path: path ? `${path}.${name}` : String(name) }, found);
    if (shape.kind === 'variants') {
      if (depth < DEEPEST_VARIANT)
        found.push(...this.ofVariants(variantsOf(shape.schema, this.root), value, { path, depth: depth + 1 }).problems);
    } else if (shape.kind === 'array') {
      for (const [index, one] of value.entries()) visit(itemSchema(shape.schema, index), one, index + 1);
    } else if (shape.kind === 'map' || shape.kind === 'object') {
      for (const [name, inner, needed] of propertiesOf(shape.schema))
        visit(inner, Object.hasOwn(value, name) ? value[name] : undefined, name, needed);
      const isFree = freeParts(shape.schema).length > 0;
      for (const [name, one] of freeMembers(shape.schema, value)) {
        if (this.#left < 0 || found.length >= MOST_PROBLEMS) break;
        const wrong = keyError(shape.schema, name, this.root);
        if (wrong) found.push({ path: path ? `${path}.${name}` : name, message: wrong });
        else if (isFree) visit(partOfKey(shape.schema, name), one, name);
      }
    }
    return found;
  }

  /**
   * The first variant without problems, or else the best match with its problems.
   * @param {any[]} variants
   * @param {any} value
   * @param {{path?: string, depth?: number}} [at]
   * @returns {{index: number, problems: Problem[]}}
   */
  ofVariants(variants, value, at = {}) {
    let best;
    for (const index of variantsAt(variants, this.root, value)) {
      const problems = this.visit(variants[index], value, { ...at, required: true });
      if (problems.length === 0 && this.#left >= 0) return { index, problems };
      best ??= { index, problems };
    }
    return best ?? { index: -1, problems: [] };
  }
}
