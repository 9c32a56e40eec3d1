// Which field of a form an error is about, and errors in words.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { inWords, notLoaded, Refusal } from '../app/src/lib/errors.js';
import { findField } from '../app/src/lib/form-errors.js';

const fields = ['Name', 'Description', 'Patterns', 'URL', 'Body template', 'Current password', 'New password'].map(
  (label) => ({ id: label, label }),
);
/** @param {string} code @param {string} detail @param {number} [status] */
const of = (code, detail, status = 400, problem = {}) =>
  findField({ status, code, detail, problem }, fields)?.label ?? null;

test('an error belongs to the field that its code, its text or the server names', () => {
  assert.equal(of('name_taken', 'an event sink named `billing` exists already', 409), 'Name');
  assert.equal(of('invalid_url', "the webhook's URL has no host"), 'URL');
  assert.equal(of('invalid_pattern', '3: `a b` is not a pattern'), 'Patterns');
  assert.equal(of('invalid_template', 'template line 2: …'), 'Body template');
  assert.equal(of('invalid', 'the description has 1,200 characters; at most 1,000 are allowed'), 'Description');
  assert.equal(of('invalid_body', 'in `webhook.url`: expected a text'), 'URL');
  assert.equal(of('wrong_password', 'wrong', 403), 'Current password');
  assert.equal(of('invalid_password', 'too short'), 'New password');
  assert.equal(findField(new Refusal('The two new passwords differ.'), fields)?.label, 'New password');
  assert.equal(of('other', 'x', 422, { field: 'delivery.description' }), 'Description');
  const group = [{ id: 'g', label: 'Group name' }];
  assert.equal(findField({ status: 409, code: 'name_taken', detail: '' }, group)?.id, 'g');
  const named = [{ id: 'q', label: 'Events a day', name: 'event_bytes' }];
  assert.equal(findField({ status: 400, code: 'invalid_quota', detail: '`event_bytes` is …' }, named)?.id, 'q');
});

test('an error about no field belongs to the whole form', () => {
  assert.equal(of('conflict', 'the sink is disabled; enable it first', 409), null);
  assert.equal(of('permission_denied', 'you may not change the name', 403), null);
  assert.equal(of('database_unavailable', 'the name of the database', 503), null);
  assert.equal(of('unreachable', 'no answer for the URL', 0), null);
  assert.equal(findField(null, fields), null);
});

test('the text of an exception never reaches a page', () => {
  const { error, warn } = console;
  const logged = /** @type {any[]} */ ([]);
  console.error = (...parts) => logged.push(...parts);
  console.warn = (...parts) => logged.push(...parts);
  try {
    const raw = new TypeError(
      'Failed to fetch dynamically imported module: http://127.0.0.1/web/6ca8/src/pages/scripts.js',
    );
    for (const shown of [inWords(raw), inWords(notLoaded(raw))]) {
      assert.doesNotMatch(`${shown.text} ${shown.hint}`, /fetch|module|http/);
      assert.match(shown.hint, /reload/i);
    }
    assert.ok(logged.includes(raw), 'the console has the exception');
    inWords(raw);
    assert.equal(logged.filter((one) => one === raw).length, 2, 'once for each');
  } finally {
    Object.assign(console, { error, warn });
  }
  assert.deepEqual(inWords(new Refusal('No.', 'Do this.')), { text: 'No.', hint: 'Do this.' });
  assert.deepEqual(inWords({ status: 404, detail: 'gone' }), { text: 'gone', hint: '' });
});
