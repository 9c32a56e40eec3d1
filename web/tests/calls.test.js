// Statistics of recorded calls: durations, calls over time, percentiles and credentials.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { credentialWords, durationColumns, percentile, timeColumns } from '../app/src/pages/calls/summary.js';

/** @import { CallCredentialKind, CallEnd } from 'api' */

/** @param {number} ms @param {{at?: number, caller?: string | null, outcome?: CallEnd}} [given] */
const call = (ms, { at = 0, caller = 'ann', outcome = 'ok' } = {}) => ({
  at: new Date(at).toISOString(),
  caller,
  outcome,
  duration_ms: ms,
});
const failed = (/** @type {{outcome: string}} */ { outcome }) => outcome !== 'ok';

test('durations are counted in columns without empty ends', () => {
  const columns = durationColumns([call(0.2), call(0.99), call(1), call(7)]);
  assert.deepEqual(
    columns.map(({ from, to, count }) => [from, to, count]),
    [
      [0, 1, 2],
      [1, 2, 1],
      [2, 5, 0],
      [5, 10, 1],
    ],
  );
  assert.deepEqual(durationColumns([call(60_000)]), [{ from: 60_000, to: null, count: 1 }]);
  assert.deepEqual(durationColumns([]), []);
});

test('calls are counted in equal parts of the time, also those at its end and after it', () => {
  const calls = [
    call(1, { at: 0 }),
    call(1, { at: 99, outcome: 'timeout' }),
    call(1, { at: 130 }),
    call(1, { at: -5 }),
  ];
  const columns = timeColumns(calls, failed, { from: 0, to: 100, count: 2 });
  assert.deepEqual(columns, [
    { at: 0, total: 1, bad: 0 },
    { at: 50, total: 2, bad: 1 },
  ]);
  assert.deepEqual(timeColumns([{ ...call(1), at: 'nonsense' }], failed, { from: 0, to: 1, count: 1 })[0].total, 0);
});

test('a percentile is a duration that occurred', () => {
  const calls = Array.from({ length: 100 }, (_, index) => call(100 - index));
  assert.equal(percentile(calls, 0.5), 50);
  assert.equal(percentile(calls, 0.95), 95);
  assert.equal(percentile([call(3)], 0.5), 3);
  assert.equal(percentile([], 0.5), null);
});

test('credentials have names: own ones by name, those of other users by the end of their id', () => {
  const names = new Map([['0197a1b2-0000-7000-8000-00000000000a', 'editor']]);
  const words = (
    /** @type {string} */ caller,
    /** @type {CallCredentialKind} */ kind,
    /** @type {string | null} */ id,
  ) => {
    const group = { caller_id: caller, caller, credential: { kind, id }, calls: 1, failed: 0, last_at: '' };
    const { kind: label, name } = credentialWords(group, names, 'me');
    return `${label}: ${name}`;
  };
  assert.equal(words('me', 'token', '0197a1b2-0000-7000-8000-00000000000a'), 'token: editor');
  assert.equal(words('me', 'app', '0197a1b2-0000-7000-8000-00000000000b'), 'connected app: revoked');
  assert.equal(words('me', 'session', '0197a1b2-0000-7000-8000-00000000000c'), 'browser: this interface');
  assert.equal(words('you', 'token', '0197a1b2-0000-7000-8000-00000000000d'), 'token: …0000000d');
  assert.equal(words('you', 'session', '0197a1b2-0000-7000-8000-00000000000e'), 'browser: …0000000e');
  assert.equal(words('you', 'script', null), 'script: without an id');
  const hidden = { caller_id: 'you', caller: null, credential: null, calls: 1, failed: 0, last_at: '' };
  assert.equal(credentialWords(hidden, names, 'me').name, 'unknown');
});
