/** The form of a method (formats, variants, problems, examples), and differences of two texts. */
import assert from 'node:assert/strict';
import test from 'node:test';

import { diffLines } from '../app/src/lib/diff.js';
import { formatError } from '../app/src/pages/method/formats.js';
import { problemsOf } from '../app/src/pages/method/problems.js';
import { exampleParams, initialOf, shapeOf, variantAt, variantsOf } from '../app/src/pages/method/schema.js';

test('a format accepts valid texts, and its error shows the right form', () => {
  const cases = /** @type {[string, string, boolean][]} */ ([
    ['email', 'ann@example.org', true],
    ['email', 'ann@example.org@', false],
    ['email', 'ann', false],
    ['date', '2024-02-29', true],
    ['date', '2026-02-29', false],
    ['date-time', '2026-11-17T09:30:00Z', true],
    ['date-time', '2026-11-17T09:30:00.123+01:00', true],
    ['date-time', '2026-11-17', false],
    ['uri', 'https://example.org/a?b', true],
    ['uri', 'example.org', false],
    ['uuid', '01a1e728-2cd3-7654-b4d4-69990d089f8c', true],
    ['uuid', '01a1e728', false],
    ['constructor', 'anything', true],
  ]);
  for (const [format, text, valid] of cases) assert.equal(formatError(format, text) === '', valid, `${format} ${text}`);
});

const PAYMENT = {
  oneOf: [
    { title: 'Card', type: 'object', required: ['kind'], properties: { kind: { const: 'card' } } },
    { type: 'object', required: ['kind'], properties: { kind: { const: 'invoice' }, days: { type: 'integer' } } },
    { type: 'string' },
  ],
};

test('a value selects its variant, and a required variant has a first value', () => {
  const { kind, schema } = shapeOf(PAYMENT, PAYMENT);
  assert.equal(kind, 'variants');
  const variants = variantsOf(schema, PAYMENT);
  assert.equal(variantAt(variants, PAYMENT, { kind: 'invoice', days: 3 }), 1);
  assert.equal(variantAt(variants, PAYMENT, 'later'), 2);
  assert.equal(variantAt(variants, PAYMENT, 7), -1);
  assert.deepEqual(initialOf(PAYMENT, PAYMENT), { kind: 'card' });
});

test('problems of nested values are listed with their paths', () => {
  const schema = {
    type: 'object',
    required: ['payment', 'mails'],
    properties: {
      payment: PAYMENT,
      mails: { type: 'array', items: { type: 'string', format: 'email' } },
      labels: { type: 'object', additionalProperties: { type: 'integer' } },
    },
  };
  assert.deepEqual(
    problemsOf(schema, { payment: { kind: 'invoice', days: 'x' }, mails: ['a@b', 'c'], labels: { n: 'y' } }),
    [
      { path: 'payment.days', message: 'Not a whole number.' },
      { path: 'mails.2', message: 'Not an email address.' },
      { path: 'labels.n', message: 'Not a whole number.' },
    ],
  );
  assert.deepEqual(
    problemsOf(schema, {}).map(({ path }) => path),
    ['payment', 'mails'],
  );
});

test('hostile schemas and values stay bounded', () => {
  /** @type {any} */
  const recursive = { type: 'object', required: ['next'], properties: { next: { $ref: '#' } } };
  recursive.oneOf = [{ $ref: '#' }, { $ref: '#' }];
  const start = performance.now();
  initialOf(recursive, recursive);
  const list = { type: 'array', items: { type: 'integer' } };
  assert.equal(
    problemsOf(
      list,
      Array.from({ length: 100_000 }, () => 'x'),
    ).length,
    20,
  );
  problemsOf(recursive, { next: { next: { next: {} } } });
  diffLines('x\n'.repeat(10_000), 'y\n'.repeat(10_000));
  assert.ok(performance.now() - start < 2_000);
});

test('the example is that of the schema, or of its properties', () => {
  assert.deepEqual(exampleParams({ type: 'object', properties: { a: { type: 'string', examples: ['x'] } } }), {
    a: 'x',
  });
  assert.deepEqual(exampleParams({ type: 'object', properties: {}, examples: [{ b: 1 }] }), { b: 1 });
  assert.equal(exampleParams({ type: 'object', properties: { a: { type: 'string' } } }), undefined);
});

test('a difference keeps common lines', () => {
  assert.deepEqual(diffLines('a\nb\nc', 'a\nx\nc'), [
    { kind: 'same', text: 'a' },
    { kind: 'removed', text: 'b' },
    { kind: 'added', text: 'x' },
    { kind: 'same', text: 'c' },
  ]);
});
