/** The form of a method (formats, variants, problems, examples), and differences of two texts. */
import assert from 'node:assert/strict';
import test from 'node:test';

import { diffLines } from '../app/src/lib/diff.js';
import { formatError, localTimeOfDay, utcTimeOfDay } from '../app/src/pages/method/formats.js';
import { bestVariant, problemsOf } from '../app/src/pages/method/problems.js';
import { exampleParams, initialOf, shapeOf, variantsOf } from '../app/src/pages/method/schema.js';

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
    ['time', '09:30:00Z', true],
    ['time', '23:59:60.25+05:30', true],
    ['time', '09:30Z', false],
    ['time', '09:30:00', false],
    ['time', '24:00:00Z', false],
    ['time', '09:30:00Z tomorrow', false],
    ['uri', 'https://example.org/a?b', true],
    ['uri', 'example.org', false],
    ['uuid', '01a1e728-2cd3-7654-b4d4-69990d089f8c', true],
    ['uuid', '01a1e728', false],
    ['constructor', 'anything', true],
  ]);
  for (const [format, text, valid] of cases) assert.equal(formatError(format, text) === '', valid, `${format} ${text}`);
});

test('a time of day is shown in the local time zone, and sent in UTC', () => {
  // As `Date.getTimezoneOffset` gives them: India is 330 minutes ahead of UTC, New York 300 minutes behind it.
  const [india, newYork] = [-330, 300];
  assert.equal(localTimeOfDay('09:30:15Z', 0), '09:30:15');
  assert.equal(localTimeOfDay('09:30:15.5+01:00', 0), '08:30:15');
  assert.equal(localTimeOfDay('20:00:00Z', india), '01:30:00', 'the next day');
  assert.equal(localTimeOfDay('02:00:00Z', newYork), '21:00:00', 'the day before');
  for (const text of ['', '09:30:00', '23:59:60Z', 'soon']) assert.equal(localTimeOfDay(text, 0), '', text);
  assert.equal(utcTimeOfDay('01:30', india), '20:00:00Z', 'a picker may leave out the seconds');
  assert.equal(utcTimeOfDay('21:00:07', newYork), '02:00:07Z');
  assert.equal(utcTimeOfDay('', india), '');
  for (const offset of [0, india, newYork])
    assert.equal(utcTimeOfDay(localTimeOfDay('17:04:59Z', offset), offset), '17:04:59Z');
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
  assert.equal(bestVariant(variants, PAYMENT, { kind: 'invoice', days: 3 }), 1);
  assert.equal(bestVariant(variants, PAYMENT, 'later'), 2);
  assert.equal(bestVariant(variants, PAYMENT, 7), -1);
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
  // Without a bound, these do not end.
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
