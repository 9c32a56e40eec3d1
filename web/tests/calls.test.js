// Statistics of recorded calls: durations, calls over time, percentiles and callers.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { callersOf, durationColumns, percentile, timeColumns } from '../app/src/pages/calls/summary.js';

/** @param {number} ms @param {{at?: number, caller?: string | null, outcome?: string}} [given] */
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

test('callers are listed once, with their last call and their failures', () => {
  const calls = [
    call(1, { at: 9, caller: 'ben' }),
    call(1, { at: 8 }),
    call(1, { at: 7, outcome: 'timeout' }),
    call(1, { at: 6, caller: null }),
  ];
  const rows = callersOf(calls, failed);
  assert.deepEqual(
    rows.map((row) => [row.caller, row.calls, row.failed, Date.parse(row.last)]),
    [
      ['ann', 2, 1, 8],
      ['ben', 1, 0, 9],
      [null, 1, 0, 6],
    ],
  );
});
