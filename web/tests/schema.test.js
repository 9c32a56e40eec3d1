// The form and the snippets of a method. Its schemas and patterns were written by other users, so they may be slow,
// recursive or invalid.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../app/src/lib/exact.js';
import { briefJson } from '../app/src/lib/json.js';
import { shellQuote } from '../app/src/lib/shell.js';
import { isFast, matches, valueError } from '../app/src/pages/method/check.js';
import { initialOf, resolve, shapeOf } from '../app/src/pages/method/schema.js';
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
  const start = performance.now();
  for (const pattern of slow) assert.ok(matches(pattern, 'a'.repeat(60)), pattern);
  assert.ok(matches('^b$', 'a'.repeat(2_000)), 'a value that is too long is not checked');
  assert.ok(performance.now() - start < 1_000);
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
