// The labels of axes: `npm run unit`.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { timeTicks, valueTick } from '../app/src/lib/axis.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('the ticks of a time axis are at round local times', () => {
  // A Tuesday, 20:31 in the time zone of the machine.
  const now = new Date(2026, 10, 17, 20, 31).getTime();
  /** @type {[number, number, number][]} length, minutes between ticks, number of ticks */
  const cases = [
    [HOUR, 15, 4],
    [DAY, 360, 4],
    [7 * DAY, 1_440, 7],
  ];
  for (const [length, minutes, count] of cases) {
    const from = now - length;
    const ticks = timeTicks(from, now);
    assert.equal(ticks.length, count, `${length}`);
    for (const { at, label } of ticks) {
      assert.ok(at > 0 && at < 1 && label);
      const time = new Date(Math.round(from + at * length));
      const ofDay = time.getHours() * 60 + time.getMinutes();
      assert.equal(ofDay % Math.min(minutes, 1_440), 0, time.toISOString());
    }
  }
  const weeks = timeTicks(now - 30 * DAY, now);
  assert.equal(weeks.length, 5);
  for (const { at } of weeks) assert.equal(new Date(Math.round(now - 30 * DAY + at * 30 * DAY)).getDay(), 1);
  // Neighbours differ.
  for (const ticks of [weeks, timeTicks(now - 7 * DAY, now)])
    assert.equal(new Set(ticks.map(({ label }) => label)).size, ticks.length);
});

test('an axis without a length, or with years, has no ticks', () => {
  const now = Date.now();
  for (const [from, to] of [
    [now, now],
    [now, now - HOUR],
    [Number.NaN, now],
    [now, Number.NaN],
    [now - 1_000 * DAY, now],
  ])
    assert.deepEqual(timeTicks(from, to), []);
});

test('the tick of a value axis is a round value in the middle', () => {
  for (const [top, value] of [
    [2, 1],
    [3, 2],
    [10, 5],
    [13, 5],
    [15, 10],
    [71, 50],
    [1_234, 500],
  ])
    assert.equal(valueTick(top, true), value);
  assert.equal(valueTick(1, true), null);
  assert.equal(valueTick(0, false), null);
  assert.equal(valueTick(0.7, false), 0.5);
  for (let top = 0.013; top < 1e6; top *= 1.37) {
    const value = valueTick(top, false) ?? 0;
    assert.ok(value / top >= 0.3 - 1e-9 && value / top <= 0.75 + 1e-9, `${value} of ${top}`);
  }
});
