/**
 * Reads JSON Schema for forms and for display. Schemas come from other users and may be recursive, contradictory or
 * huge; the fallback is a field of raw JSON.
 */
import { isExact, isNumber, kindOf, numberText } from '../../lib/exact.js';

/** @typedef {Record<string, any>} Schema */
/**
 * @typedef {'choice' | 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'variants' | 'map' | 'set' |
 *   'raw'} Kind
 */
/** @typedef {{kind: Kind, schema: Schema, nullable: boolean}} Shape */

/**
 * Cache of resolved schemas: without it, nested references take exponential time.
 * @type {WeakMap<object, Schema>}
 */
const resolved = new WeakMap();

/** @param {any} value @returns {value is Schema} */
const isObject = (value) => kindOf(value) === 'object';

/**
 * Resolves references and merges `allOf`.
 * @param {any} schema
 * @param {Schema} root the target of `#`
 * @returns {Schema}
 */
export function resolve(schema, root) {
  if (!isObject(schema)) return {};
  const known = resolved.get(schema);
  if (known) return known;
  // Placeholder for a schema that refers to itself.
  resolved.set(schema, {});
  const { $ref, allOf, ...own } = schema;
  let whole = withPlainLimits(own);
  if (typeof $ref === 'string') whole = join(resolve(lookup(root, $ref), root), whole);
  if (Array.isArray(allOf)) whole = allOf.reduce((sum, part) => join(sum, resolve(part, root)), whole);
  resolved.set(schema, whole);
  return whole;
}

const LIMITS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
];

/**
 * Converts limits to ordinary numbers for comparisons. Numbers of other keywords stay as they were written.
 * @param {Schema} schema
 * @returns {Schema}
 */
function withPlainLimits(schema) {
  const written = LIMITS.filter((name) => isExact(schema[name]));
  return written.length > 0
    ? { ...schema, ...Object.fromEntries(written.map((name) => [name, Number(numberText(schema[name]))])) }
    : schema;
}

/** @param {Schema} base @param {Schema} more @returns {Schema} */
function join(base, more) {
  const both = { ...base, ...more };
  for (const name of ['properties', 'patternProperties'])
    if (base[name] && more[name]) both[name] = { ...base[name], ...more[name] };
  if (Array.isArray(base.required) && Array.isArray(more.required))
    both.required = [...new Set([...base.required, ...more.required])];
  return both;
}

/** @param {Schema} root @param {string} ref */
function lookup(root, ref) {
  if (!ref.startsWith('#')) return undefined;
  /** @type {any} */
  let at = root;
  for (const part of ref.slice(1).split('/').slice(1)) {
    const key = unescapeStep(part);
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** Decodes one step of a JSON pointer in a URL fragment. @param {string} part */
function unescapeStep(part) {
  let step = part;
  try {
    step = decodeURIComponent(part);
  } catch {
    // Not percent-encoded: the `%` is part of the name.
  }
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

const KINDS = ['string', 'integer', 'number', 'boolean', 'array', 'object'];

/** Limit of nested `anyOf` or `oneOf` that have only one variant besides null; deeper ones are raw JSON. */
const DEEPEST_VARIANT = 8;

/**
 * The field type for a schema.
 * @param {any} part
 * @param {Schema} root
 * @returns {Shape}
 */
export function shapeOf(part, root, depth = 0) {
  const schema = resolve(part, root);
  if ('const' in schema) return { kind: 'choice', schema: { ...schema, enum: [schema.const] }, nullable: false };
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return { kind: 'choice', schema, nullable: false };
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants))
    return shapeOfVariants(
      schema,
      variants.map((variant) => resolve(variant, root)),
      root,
      depth,
    );
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? impliedType(schema)];
  const others = types.filter((type) => type !== 'null');
  const nullable = others.length < types.length;
  const kind = others.length === 1 && KINDS.includes(others[0]) ? others[0] : 'raw';
  if (kind === 'object' && !hasFields(schema)) {
    const isMap = freeParts(schema).length > 0;
    return { kind: isMap ? 'map' : 'raw', schema, nullable: nullable && isMap };
  }
  if (kind === 'array' && hasChoices(schema, root)) return { kind: 'set', schema, nullable };
  return { kind, schema, nullable: nullable && kind !== 'raw' };
}

/** Limit of checkboxes. */
const MOST_CHOICES = 30;

/** Whether each item of a list must be one of a few constants. @param {Schema} schema @param {Schema} root */
function hasChoices(schema, root) {
  if (schema.prefixItems !== undefined || !isObject(schema.items)) return false;
  const { enum: choices } = resolve(schema.items, root);
  return (
    Array.isArray(choices) &&
    choices.length > 0 &&
    choices.length <= MOST_CHOICES &&
    choices.every((choice) => ['string', 'number', 'boolean'].includes(kindOf(choice)))
  );
}

/** Limit of variants that can be picked. */
const MOST_VARIANTS = 50;

/**
 * The only value that a schema allows: `const`, or an `enum` of one value. Undefined if there is none.
 * @param {Schema} schema
 */
export function constantOf(schema) {
  if ('const' in schema) return schema.const;
  return Array.isArray(schema.enum) && schema.enum.length === 1 ? schema.enum[0] : undefined;
}

/** @type {WeakMap<object, any[]>} */
const known = new WeakMap();

/**
 * The variants of a schema, each joined with the keywords beside `anyOf` or `oneOf`, except descriptive keywords such
 * as `title`, and `default`.
 * @param {Schema} schema of the kind `variants`
 * @param {Schema} root
 * @returns {any[]}
 */
export function variantsOf(schema, root) {
  const cached = known.get(schema);
  if (cached) return cached;
  const { anyOf, oneOf, title, description, default: _, examples, ...shared } = schema;
  const variants = (anyOf ?? oneOf).slice(0, MOST_VARIANTS).map((/** @type {any} */ variant) => {
    const whole = join(shared, resolve(variant, root));
    const names = mappedNames(schema.discriminator, variant);
    return names.length > 0 ? withChoices(whole, schema.discriminator.propertyName, names, root) : whole;
  });
  known.set(schema, variants);
  return variants;
}

/**
 * The names that the `mapping` of a `discriminator` gives to a variant.
 * @param {any} discriminator
 * @param {any} variant
 * @returns {string[]}
 */
function mappedNames(discriminator, variant) {
  if (typeof discriminator?.propertyName !== 'string' || !isObject(discriminator.mapping)) return [];
  const ref = variant?.$ref;
  if (typeof ref !== 'string') return [];
  // A target is a reference, or the name of a schema.
  return Object.entries(discriminator.mapping)
    .filter(([, target]) => target === ref || ref.endsWith(`/${target}`))
    .map(([name]) => name);
}

/**
 * The schema of an object in which one member must be one of the names, unless the schema already has constants for it.
 * @param {Schema} schema
 * @param {string} name
 * @param {string[]} names
 * @param {Schema} root
 * @returns {Schema}
 */
function withChoices(schema, name, names, root) {
  const member = resolve(memberOf(schema, name), root);
  if ('const' in member || 'enum' in member) return schema;
  return join(schema, { properties: Object.fromEntries([[name, { ...member, enum: names }]]) });
}

/** The schema of one member; undefined if it is not declared. @param {Schema} schema @param {string} name */
export function memberOf(schema, name) {
  return isObject(schema.properties) && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
}

/**
 * "X or null" becomes the field of X with `nullable`, and "one of these constants" becomes a choice.
 * @param {Schema} schema
 * @param {Schema[]} variants
 * @param {Schema} root
 * @param {number} depth
 * @returns {Shape}
 */
function shapeOfVariants(schema, variants, root, depth) {
  const { anyOf, oneOf, ...own } = schema;
  const isNull = (/** @type {Schema} */ variant) => variant.type === 'null' || constantOf(variant) === null;
  const others = variants.filter((variant) => !isNull(variant));
  const constants = variants.map(constantOf);
  if (constants.length > 0 && constants.every((one) => one !== undefined))
    return { kind: 'choice', schema: { ...own, enum: constants }, nullable: false };
  if (depth >= DEEPEST_VARIANT || variants.length === 0 || variants.length > MOST_VARIANTS)
    return { kind: 'raw', schema, nullable: false };
  if (others.length !== 1) return { kind: 'variants', schema, nullable: false };
  const only = shapeOf(join(others[0], own), root, depth + 1);
  return only.kind === 'raw'
    ? { kind: 'raw', schema, nullable: false }
    : { ...only, nullable: only.nullable || others.length < variants.length };
}

/** @param {Schema} schema */
function impliedType(schema) {
  if (isObject(schema.properties)) return 'object';
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  return undefined;
}

/** Whether an object has declared properties or allows no key; others are maps or raw JSON. @param {Schema} schema */
function hasFields(schema) {
  const declared = isObject(schema.properties) && Object.keys(schema.properties).length > 0;
  return declared || (schema.additionalProperties === false && freeParts(schema).length === 0);
}

/**
 * The schemas of free keys, which are not in `properties`: of the keys that match a pattern, and of all others. Empty
 * if the schema says nothing about free keys, or allows none.
 * @param {Schema} schema an object
 * @returns {[pattern: string | null, part: any][]} the pattern is null for all other keys
 */
export function freeParts(schema) {
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {});
  const others = schema.additionalProperties;
  return isObject(others) || others === true ? [...patterns, [null, others]] : patterns;
}

/**
 * @param {Schema} schema an object
 * @returns {[name: string, part: any, required: boolean][]} required properties first
 */
export function propertiesOf(schema) {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const rows = Object.entries(isObject(schema.properties) ? schema.properties : {}).map(
    ([name, part]) => /** @type {[string, any, boolean]} */ ([name, part, required.includes(name)]),
  );
  return rows.sort((a, b) => Number(b[2]) - Number(a[2]));
}

/** @param {Schema} schema an array @param {number} index @returns {any} */
export function itemSchema(schema, index) {
  // Before draft 2020-12, a list in `items` had the meaning of `prefixItems`.
  const tuple = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
  if (Array.isArray(tuple) && index < tuple.length) return tuple[index];
  return Array.isArray(schema.items) ? (schema.additionalItems ?? {}) : (schema.items ?? {});
}

/**
 * The value that the field of an item or a free key shows. An item cannot be absent, so an empty one is null. Its field
 * shows null as empty, except if the schema allows null or if the field is a choice or raw JSON.
 * @param {any} item
 * @param {any} part
 * @param {Schema} root
 */
export function itemValue(item, part, root) {
  const { kind, nullable } = shapeOf(part, root);
  return item === null && !nullable && kind !== 'raw' && kind !== 'choice' ? undefined : item;
}

/** The maximum depth of required members in an initial value. */
const DEEPEST = 6;
/** Limit of items in an initial list. */
const FIRST_ITEMS = 3;
/** Limit of members in an initial value. */
const FIRST_PARTS = 500;

/**
 * The initial value of a field: the default, or a small value of its type, which may be invalid. Undefined if only the
 * user can know it.
 * @param {any} part
 * @param {Schema} root
 * @returns {any}
 */
export function initialOf(part, root) {
  return initial(part, { root, depth: 0, budget: { left: FIRST_PARTS } });
}

/** @typedef {{root: Schema, depth: number, budget: {left: number}}} Progress */

/** @param {any} part @param {Progress} at @returns {any} */
function initial(part, at) {
  const { kind, schema, nullable } = shapeOf(part, at.root);
  at.budget.left -= 1;
  if (schema.default !== undefined) return schema.default;
  if (kind === 'choice') return schema.enum.length === 1 ? schema.enum[0] : undefined;
  if (nullable) return null;
  if (kind === 'string') return '';
  if (kind === 'boolean') return false;
  const inside = { ...at, depth: at.depth + 1 };
  const further = at.depth < DEEPEST && at.budget.left > 0;
  if (kind === 'map') return {};
  if (kind === 'set') return [];
  if (kind === 'variants') return further ? initial(variantsOf(schema, at.root)[0], inside) : undefined;
  if (kind === 'array') return further ? initialItems(schema, inside) : [];
  return kind === 'object' && further ? initialObject(schema, inside) : undefined;
}

/** @param {Schema} schema @param {Progress} at */
function initialItems(schema, at) {
  const least = Number.isInteger(schema.minItems) ? Math.min(schema.minItems, FIRST_ITEMS) : 0;
  return Array.from({ length: Math.max(least, 0) }, (_, index) => initial(itemSchema(schema, index), at) ?? null);
}

/** @param {Schema} schema @param {Progress} at */
function initialObject(schema, at) {
  /** @type {[string, any][]} */
  const members = [];
  for (const [name, part, required] of propertiesOf(schema)) {
    if (at.budget.left <= 0) break;
    const value = required ? initial(part, at) : shapeOf(part, at.root).schema.default;
    if (value !== undefined) members.push([name, value]);
  }
  // Not an assignment: a property may be named `__proto__`.
  return Object.fromEntries(members);
}

/**
 * Whether a field of this type can show the value.
 * @param {Kind} kind
 * @param {any} value
 */
export function fits(kind, value) {
  if (value === undefined || kind === 'raw' || kind === 'choice') return true;
  // An incomplete number in a number field is a text.
  if (kind === 'integer' || kind === 'number') return isNumber(value) || typeof value === 'string';
  if (kind === 'variants') return true;
  if (kind === 'map') return kindOf(value) === 'object';
  // Checkboxes cannot show an item twice.
  if (kind === 'set')
    return Array.isArray(value) && new Set(value.map((one) => JSON.stringify(one))).size === value.length;
  return kindOf(value) === kind;
}

/**
 * The example of the params: of the whole schema, or put together from the examples of its properties.
 * @param {Schema} root
 * @returns {any} undefined if there is none
 */
export function exampleParams(root) {
  const { kind, schema } = shapeOf(root, root);
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0];
  if (kind !== 'object') return undefined;
  const members = propertiesOf(schema).flatMap(([name, part]) => {
    const { examples } = resolve(part, root);
    return Array.isArray(examples) && examples.length > 0 ? [[name, examples[0]]] : [];
  });
  if (members.length === 0) return undefined;
  return Object.fromEntries([...Object.entries(initialOf(root, root) ?? {}), ...members]);
}
