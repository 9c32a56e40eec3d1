// The form and the snippets of a method. Its schemas and patterns were written by other users, so they may be slow,
// recursive or invalid.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../app/src/lib/exact.js';
import { briefJson } from '../app/src/lib/json.js';
import { shellQuote } from '../app/src/lib/shell.js';
import { isFast, limitsOf, matches, typeText, valueError, variantLabel } from '../app/src/pages/method/check.js';
import { keyError, partOfKey } from '../app/src/pages/method/free-keys.js';
import { bestVariant, problemsOf } from '../app/src/pages/method/problems.js';
import { initialOf, resolve, shapeOf, variantsOf } from '../app/src/pages/method/schema.js';
import { cliOf, curlOf, pythonLiteral, typescriptOf } from '../app/src/pages/method/snippets.js';

test('a value is checked only against patterns that are always fast', () => {
  for (const pattern of ['^[a-z]+$', String.raw`^\d{4}-\d{2}-\d{2}$`, 'ab?c', '^x{2,9}', ''])
    assert.ok(isFast(pattern), pattern);
  const slow = [
    'a?'.repeat(60) + 'a'.repeat(60),
    `${'(a|a)'.repeat(35)}b`,
    '(a+)+$',
    'a|b',
    'a*a*',
    String.raw`(.)\1`,
    '.*?x',
    'a'.repeat(300),
  ];
  for (const pattern of slow) assert.ok(!isFast(pattern), pattern);
  // The first patterns would take hours.
  for (const pattern of slow) assert.ok(matches(pattern, 'a'.repeat(60)), pattern);
  assert.ok(matches('^b$', 'a'.repeat(2_000)), 'a value that is too long is not checked');
  assert.ok(!matches('^[a-z]+$', 'A'));
  assert.ok(matches('[', 'a'), 'an invalid pattern rejects nothing');
});

test('a field reports the error of its value', () => {
  const of = (/** @type {any} */ schema, /** @type {any} */ value) => valueError(shapeOf(schema, schema), value, true);
  assert.equal(of({ type: 'string', pattern: '^[a-z]+$' }, 'A'), 'Does not match the pattern.');
  assert.equal(of({ type: 'integer', maximum: 5 }, 6), 'At most 5.');
  assert.equal(of({ enum: ['a', 'b'] }, 'c'), 'Not one of the allowed values.');
  assert.equal(of({ type: 'string' }, undefined), 'Required.');
  // Engines with `JSON.rawJSON` keep the text `5.0`. As a limit, it must still be compared as a number.
  const parsed = parseExact('{"type":"number","maximum":5.0,"default":12345678901234567890}');
  assert.ok(parsed.ok);
  assert.equal(of(parsed.value, 6), 'At most 5.');
  if ('rawJSON' in JSON) assert.equal(JSON.stringify(initialOf(parsed.value, parsed.value)), '12345678901234567890');
});

test('references are resolved, including cycles', () => {
  const root = {
    $defs: {
      node: {
        type: 'object',
        required: ['next', 'n'],
        properties: { next: { $ref: '#/$defs/node' }, n: { type: 'integer', default: 3 } },
      },
    },
  };
  assert.equal(resolve({ $ref: '#/$defs/node' }, root).type, 'object');
  assert.deepEqual(resolve({ $ref: '#/$defs/nothing', title: 'x' }, root), { title: 'x' });
  assert.deepEqual(resolve({ $ref: '#/__proto__/x' }, root), {});
  // A reference is a percent-encoded JSON pointer: `%7E` means `~`. In the pointer, `~1` means `/` and `~0` means `~`.
  const escaped = { $defs: { 'a/b': { title: 'slash' }, '~1': { title: 'tilde' }, '50%': { title: 'percent' } } };
  assert.deepEqual(resolve({ $ref: '#/$defs/a%7E1b' }, escaped), { title: 'slash' });
  assert.deepEqual(resolve({ $ref: '#/$defs/a~1b' }, escaped), { title: 'slash' });
  assert.deepEqual(resolve({ $ref: '#/$defs/~01' }, escaped), { title: 'tilde' });
  assert.deepEqual(resolve({ $ref: '#/$defs/%7E01' }, escaped), { title: 'tilde' });
  assert.deepEqual(resolve({ $ref: '#/$defs/50%25' }, escaped), { title: 'percent' });
  assert.deepEqual(resolve({ $ref: '#/$defs/50%' }, escaped), { title: 'percent' }, 'a `%` without two digits stays');
  const self = { $ref: '#' };
  assert.deepEqual(resolve(self, self), {});
  const both = {
    allOf: [
      { required: ['a'], properties: { a: {} } },
      { required: ['b'], properties: { b: {} } },
    ],
  };
  assert.deepEqual(resolve(both, both).required, ['a', 'b']);

  const first = initialOf({ $ref: '#/$defs/node' }, root);
  assert.equal(first.n, 3);
  assert.ok(JSON.stringify(first).length < 1_000, 'the initial value of a recursive schema is finite');
});

test('a form starts with the smallest value that can be valid', () => {
  const of = (/** @type {any} */ schema) => initialOf(schema, schema);
  assert.deepEqual(
    of({
      type: 'object',
      required: ['s', 'l', 'c'],
      properties: {
        s: { type: 'string' },
        l: { type: 'array', minItems: 1, items: { type: 'boolean' } },
        c: { const: 7 },
        o: { type: 'string' },
        d: { default: [1] },
      },
    }),
    { s: '', l: [false], c: 7, d: [1] },
  );
  assert.equal(of({ type: ['string', 'null'] }), null);
  assert.equal(of({ type: 'integer' }), undefined);
  const odd = of(JSON.parse('{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"string"}}}'));
  assert.equal(JSON.stringify(odd), '{"__proto__":""}');
});

/** @param {any} schema with `anyOf` or `oneOf` */
function variants(schema) {
  const all = variantsOf(shapeOf(schema, schema).schema, schema);
  return {
    /** @param {any} value */
    at: (value) => bestVariant(all, schema, value),
    labels: all.map((part, index) => variantLabel(part, index, schema)),
    first: all.map((part) => initialOf(part, schema)),
  };
}

test('an `enum` of one value distinguishes variants as `const` does', () => {
  const of = (/** @type {any} */ kind, /** @type {any} */ more) => ({
    type: 'object',
    required: ['kind', ...Object.keys(more)],
    properties: { kind, ...more },
  });
  const card = of({ enum: ['card'] }, { number: { type: 'string' } });
  const invoice = of({ enum: ['invoice'] }, { days: { type: 'integer' } });
  const schema = { oneOf: [card, invoice] };
  const { at, labels, first } = variants(schema);
  assert.deepEqual(labels, ['card', 'invoice']);
  assert.deepEqual(first, [{ kind: 'card', number: '' }, { kind: 'invoice' }]);
  assert.equal(at({ kind: 'invoice', days: 3 }), 1);
  assert.equal(at({ kind: 'invoice' }), 1);
  assert.equal(at({ kind: 'cash' }), -1);
  assert.deepEqual(problemsOf(schema, { kind: 'invoice', days: 3 }), []);
  assert.deepEqual(problemsOf(schema, { kind: 'invoice', days: 'x' }), [
    { path: 'days', message: 'Not a whole number.' },
  ]);
  assert.equal(shapeOf({ oneOf: [{ enum: ['a'] }, { const: 'b' }] }, {}).kind, 'choice');
});

test('variants without constants are distinguished by their required members', () => {
  const schema = {
    type: 'object',
    properties: { mail: { type: 'string' }, phone: { type: 'string' }, name: { type: 'string' } },
    anyOf: [{ required: ['name'] }, { required: ['phone'] }, { required: ['name', 'mail'] }],
  };
  const { at, labels } = variants(schema);
  assert.deepEqual(labels, ['with name', 'with phone', 'with name, mail']);
  assert.equal(at({ phone: '1' }), 1);
  assert.equal(at({ name: 'Ann' }), 0);
  assert.equal(at({ name: 'Ann', mail: 'a@b' }), 2, 'the variant with the most required members');
  assert.equal(at({}), 0, 'the first variant, if each lacks a member');
  assert.deepEqual(problemsOf(schema, { phone: '1' }), []);
  assert.deepEqual(problemsOf(schema, {}), [{ path: 'name', message: 'Required.' }]);
});

test('a value that is valid for any variant has no problem', () => {
  const near = { type: 'object', required: ['n'], properties: { n: { type: 'integer', maximum: 5 } } };
  const far = { type: 'object', required: ['n'], properties: { n: { type: 'integer', minimum: 100 } } };
  const schema = { anyOf: [near, far] };
  assert.deepEqual(problemsOf(schema, { n: 200 }), []);
  assert.equal(variants(schema).at({ n: 200 }), 1);
  assert.deepEqual(problemsOf(schema, { n: 50 }), [{ path: 'n', message: 'At most 5.' }]);
  const text = { anyOf: [{ type: 'string', format: 'email' }, { type: 'string', format: 'uuid' }, { enum: [null] }] };
  assert.deepEqual(problemsOf(text, '01a1e728-2cd3-7654-b4d4-69990d089f8c'), []);
  assert.deepEqual(problemsOf(text, null), []);
  assert.deepEqual(problemsOf({ anyOf: [{ type: 'string' }, { type: 'integer' }, { enum: [null] }] }, null), []);
});

test('`discriminator` names the member that selects the variant', () => {
  const $defs = {
    Cat: { type: 'object', required: ['pet', 'v'], properties: { v: { const: 2 }, pet: { const: 'cat' } } },
    Dog: { type: 'object', required: ['pet', 'v'], properties: { v: { const: 2 }, pet: { enum: ['dog', 'wolf'] } } },
    Bird: { type: 'object', required: ['pet'], properties: { label: { const: 'x' }, pet: { type: 'string' } } },
  };
  const schema = {
    $defs,
    discriminator: { propertyName: 'pet', mapping: { bird: '#/$defs/Bird', dog: 'Dog' } },
    oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }, { $ref: '#/$defs/Bird' }],
  };
  const { at, labels, first } = variants(schema);
  assert.deepEqual(labels, ['cat', 'dog, wolf', 'bird']);
  assert.deepEqual(first[2], { pet: 'bird' }, 'a mapped name is the first value');
  assert.equal(at({ pet: 'wolf', v: 2 }), 1);
  assert.equal(at({ pet: 'bird' }), 2);
  // The other members are checked against the variant that is named.
  assert.deepEqual(problemsOf(schema, { pet: 'wolf', v: 3 }), [
    { path: 'v', message: 'Not one of the allowed values.' },
  ]);
  for (const discriminator of [7, {}, { propertyName: 7 }, { propertyName: 'pet', mapping: [1] }])
    assert.equal(variants({ ...schema, discriminator }).at({ pet: 'cat', v: 2 }), 0, JSON.stringify(discriminator));
});

test('a variant without a title or a constant member is named by its values or its type', () => {
  const { labels } = variants({
    oneOf: [{ enum: ['low', 'high'] }, { const: 7 }, { const: null }, { type: 'integer' }, { type: 'object' }],
  });
  assert.deepEqual(labels, ['low, high', '7', 'null', 'integer', 'object 5']);
  const many = { oneOf: [{ enum: Array.from({ length: 1_000 }, (_, n) => `value ${n}`) }, { type: 'null' }, {}] };
  assert.equal(variants(many).labels[0].length, 80);
});

test('the schema of a free key depends on the patterns that match it', () => {
  const [number, short, other] = [{ type: 'integer' }, { maximum: 9 }, { type: 'string' }];
  const schema = { patternProperties: { '^n': number, _s$: short }, additionalProperties: other };
  assert.equal(partOfKey(schema, 'n1'), number);
  assert.deepEqual(partOfKey(schema, 'n_s'), { allOf: [number, short] });
  assert.equal(partOfKey(schema, 'x'), other);
  assert.deepEqual(partOfKey({ patternProperties: { '(a|b)+': number } }, 'x'), {}, 'a slow pattern is not tested');
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`^k${n}$`, number]));
  assert.deepEqual(partOfKey({ patternProperties: many, additionalProperties: other }, 'k59'), {}, 'nor is the 60th');
  assert.deepEqual(partOfKey({}, 'x'), {});
});

test('free keys are checked', () => {
  const names = { $defs: { name: { pattern: '^[a-z]+$', maxLength: 3 } }, propertyNames: { $ref: '#/$defs/name' } };
  assert.equal(keyError(names, 'abc', names), '');
  assert.equal(keyError(names, 'A', names), 'Does not match the pattern.');
  assert.equal(keyError(names, 'abcd', names), 'At most 3 characters.');
  assert.equal(keyError({ propertyNames: { enum: ['a'] } }, 'b', {}), 'Not one of the allowed values.');
  assert.equal(keyError({ propertyNames: false }, 'a', {}), 'The schema allows no keys.');
  const closed = { additionalProperties: false, patternProperties: { '^x-': {} } };
  assert.equal(keyError(closed, 'x-1', {}), '');
  assert.equal(keyError(closed, 'y', {}), 'Matches no pattern of the keys.');
  assert.equal(keyError({ additionalProperties: false }, 'y', {}), 'The schema does not allow this key.');
  assert.equal(keyError({ additionalProperties: false, patternProperties: { '(a|b)': {} } }, 'y', {}), '');
  assert.equal(keyError({}, 'y', {}), '');
});

test('objects with free keys are maps, or have free keys beside their fields', () => {
  const of = (/** @type {any} */ schema) => shapeOf({ type: 'object', ...schema }, {});
  for (const free of [{ additionalProperties: true }, { additionalProperties: {} }, { patternProperties: { a: {} } }])
    assert.equal(of(free).kind, 'map', JSON.stringify(free));
  assert.equal(of({ additionalProperties: false, patternProperties: { a: {} } }).kind, 'map');
  assert.equal(of({ additionalProperties: false }).kind, 'object');
  assert.equal(of({}).kind, 'raw');
  assert.equal(of({ type: ['object', 'null'], additionalProperties: true }).nullable, true);
  const both = {
    type: 'object',
    patternProperties: { a: { type: 'integer' } },
    additionalProperties: { type: 'string' },
  };
  assert.equal(typeText(both, both), 'object of integer or string');

  const schema = {
    type: 'object',
    properties: { mode: { type: 'string' } },
    allOf: [{ patternProperties: { '^n': { type: 'integer' } } }, { patternProperties: { '^b': { type: 'boolean' } } }],
    additionalProperties: false,
    minProperties: 2,
    maxProperties: 3,
  };
  assert.deepEqual(problemsOf(schema, { mode: 'a', n: 1, b: true }), []);
  assert.deepEqual(problemsOf(schema, { mode: 'a', n: 'x', other: 1 }), [
    { path: 'n', message: 'Not a whole number.' },
    { path: 'other', message: 'Matches no pattern of the keys.' },
  ]);
  assert.deepEqual(problemsOf(schema, { n: 1 }), [{ path: 'params', message: 'At least 2 keys.' }]);
  assert.deepEqual(problemsOf(schema, { n1: 1, n2: 1, n3: 1, n4: 1 }), [
    { path: 'params', message: 'At most 3 keys.' },
  ]);
  assert.deepEqual(limitsOf({ minProperties: 1, propertyNames: { pattern: '^a' } }), [
    'at least 1 key',
    'keys match ^a',
  ]);
  const wide = Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`n${n}`, 1]));
  const integers = { type: 'object', patternProperties: { '^n': { type: 'integer' } } };
  assert.equal(problemsOf(integers, { ...wide, n1: 'x' }).length, 1);
  assert.deepEqual(problemsOf(integers, { ...wide, n290000: 'x' }), [], 'a large value is checked in part');
});

test('a brief value is a prefix of its JSON text', () => {
  for (const value of [
    null,
    1,
    true,
    '',
    'é"\n',
    [],
    {},
    [1, [2, {}]],
    { a: { b: [null] }, c: 'x'.repeat(300) },
    Array.from({ length: 99 }, (_, index) => index),
  ]) {
    const whole = JSON.stringify(value);
    for (const length of [5, 60, 120])
      assert.equal(briefJson(value, length), whole.length > length ? `${whole.slice(0, length)}…` : whole);
  }
  assert.equal(briefJson(undefined), '');
  // Members after the visible part are not read.
  const large = {
    first: 'x'.repeat(200),
    get never() {
      throw new Error('this member must not be read');
    },
  };
  assert.ok(briefJson(large).endsWith('…'));
});

test('snippets contain the exact name and params, whatever characters these have', () => {
  assert.equal(shellQuote('orders.create'), 'orders.create');
  assert.equal(shellQuote("it's $HOME `x`"), String.raw`'it'\''s $HOME ${'`x`'}'`);
  assert.equal(shellQuote('--help'), "'--help'");
  assert.equal(shellQuote(''), "''");
  const call = { origin: 'http://localhost:1', name: "a'b", params: { text: '${x} `y` \\ "z"', on: true, none: null } };
  assert.ok(cliOf(call).startsWith(String.raw`svc method call 'a'\''b' '{"text":`));
  assert.ok(!curlOf(call).replaceAll(String.raw`'\''`, '').includes("a'b"));
  assert.equal(
    pythonLiteral({ a: [true, null, 'x"y'], b: {} }),
    '{\n    "a": [\n        True,\n        None,\n        "x\\"y",\n    ],\n    "b": {},\n}',
  );
  const body = /body: JSON\.stringify\(([\s\S]*?)\),\n\}\);/.exec(typescriptOf(call))?.[1] ?? '';
  assert.deepEqual(JSON.parse(body), { jsonrpc: '2.0', method: call.name, params: call.params, id: 1 });
  assert.match(typescriptOf({ ...call, params: JSON.parse('{"__proto__":1}') }), /body: "\{/);
});
