import assert from 'node:assert/strict';
import { test } from 'node:test';

import { formatDuration } from '../app/src/lib/duration.js';

test('a rounded duration never shows 60 seconds or 60 minutes', () => {
  assert.equal(formatDuration(119_600), '2 min 0 s');
  assert.equal(formatDuration(119_400), '1 min 59 s');
  assert.equal(formatDuration(3_599_600), '1 h 0 min');
  assert.equal(formatDuration(7_199_000), '2 h 0 min');
  assert.equal(formatDuration(5_400_000), '1 h 30 min');
});
