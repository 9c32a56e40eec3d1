// Lists that change while a page shows them, and check marks ("ticks") in lists that other users change too.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { anyChange, changesBetween, withChanges, withoutSaved } from '../app/src/lib/changes.js';
import { appendPage, mergeFirstPage } from '../app/src/lib/pages.js';
import { rowOf } from '../app/src/pages/events/row.js';
import { empty, MOST_HELD, MOST_ROWS, merge, reduce } from '../app/src/pages/live-list/tail-state.js';

/** @typedef {import('../app/src/pages/live-list/tail-state.js').TailAction} TailAction */

const id = (/** @type {string} */ one) => one;

test('ticks apply to the latest list, not to the list they were made on', () => {
  const ticks = changesBetween(['a', 'b'], ['b', 'c']);
  assert.deepEqual(ticks, { a: false, c: true });
  // In the meantime another user removed `b` and added `d`.
  assert.deepEqual(withChanges(['a', 'd'], ticks), ['d', 'c']);
  assert.ok(anyChange(['a', 'd'], ticks));
  assert.ok(!anyChange(['c'], ticks), 'another user made the same change');
  assert.deepEqual(withoutSaved({ a: true, c: true }, ticks), { a: true }, 'ticked again during the save');
  assert.deepEqual(withChanges(['x'], undefined), ['x']);
  assert.deepEqual(withChanges([], changesBetween([], ['__proto__', 'constructor'])), ['__proto__', 'constructor']);
});

test('rows that move off the first page stay, deleted rows disappear', () => {
  const shown = appendPage(['d', 'c'], ['c', 'b', 'a'], id);
  assert.deepEqual(shown, ['d', 'c', 'b', 'a']);
  assert.deepEqual(mergeFirstPage(shown, ['e', 'd'], id), ['e', 'd', 'c', 'b', 'a']);
  assert.deepEqual(
    mergeFirstPage(mergeFirstPage(shown, ['f', 'e'], id), ['h', 'g'], id),
    ['h', 'g', 'f', 'e', 'd', 'c', 'b', 'a'],
    'a whole page of new rows, twice',
  );
  assert.deepEqual(mergeFirstPage(['d', 'c', 'b', 'a'], ['d', 'b'], id), ['d', 'b', 'a'], '`c` was deleted');
  assert.deepEqual(mergeFirstPage(mergeFirstPage(shown, ['e', 'd'], id), ['e', 'd'], id), ['e', 'd', 'c', 'b', 'a']);
});

/** @param {number} number */
const event = (number) =>
  rowOf({
    event_id: String(number).padStart(6, '0'),
    event_type: 'custom.x',
    event_ts: '',
    owner_id: '',
    space_id: '',
    actor: { id: null, username: 'ann', kind: 'user' },
    data: { number },
  });
/** Newest first. @param {number} from @param {number} to */
const events = (from, to) => Array.from({ length: from - to + 1 }, (_, index) => event(from - index));
/** @param {TailAction[]} actions */
const after = (...actions) => actions.reduce(reduce, empty());
/** @param {import('../app/src/pages/live-list/tail-state.js').Row[] | null} rows */
const numbers = (rows) => (rows === null ? null : rows.map((row) => Number(row.id)));

test('events of the stream and of the history merge into one list in any order of arrival', () => {
  assert.deepEqual(numbers(merge([event(1), event(3)], [event(2), event(3)])), [3, 2, 1]);
  assert.equal(event(7).brief, '{"number":7}');

  const early = after(
    { type: 'requested' },
    { type: 'received', rows: [event(4)], paused: false },
    { type: 'page', rows: events(3, 2), cursor: 'older' },
  );
  assert.deepEqual([numbers(early.rows), early.cursor], [[4, 3, 2], 'older']);
  assert.deepEqual(numbers(reduce(early, { type: 'older', rows: events(2, 1), cursor: null }).rows), [4, 3, 2, 1]);

  const paused = after(
    { type: 'received', rows: [event(4)], paused: true },
    { type: 'page', rows: events(4, 2), cursor: null, paused: true },
  );
  assert.deepEqual([numbers(paused.rows), numbers(paused.held)], [[4, 3, 2], []]);
});

test('after an interruption the list has no gap and keeps new events', () => {
  const before = after({ type: 'page', rows: events(20, 11), cursor: 'a' });
  const again = (/** @type {TailAction[]} */ ...actions) =>
    [/** @type {TailAction} */ ({ type: 'requested' }), ...actions].reduce(reduce, before);

  const joined = again(
    { type: 'received', rows: [event(23)], paused: false },
    { type: 'page', rows: events(22, 19), cursor: 'b' },
  );
  assert.deepEqual([numbers(joined.rows)?.slice(0, 4), joined.cursor], [[23, 22, 21, 20], 'a']);

  // The event of the stream joins the rows of the page, but the events between the page and the old rows are missing.
  const missed = again(
    { type: 'received', rows: [event(31)], paused: false },
    { type: 'page', rows: events(30, 27), cursor: 'b' },
  );
  assert.deepEqual([numbers(missed.rows), missed.cursor], [[31, 30, 29, 28, 27], 'b']);

  const wasEmpty = [
    /** @type {TailAction} */ ({ type: 'requested' }),
    /** @type {TailAction} */ ({ type: 'page', rows: events(9, 5), cursor: 'c' }),
  ].reduce(reduce, after({ type: 'page', rows: [], cursor: null }));
  assert.deepEqual([numbers(wasEmpty.rows), wasEmpty.cursor], [[9, 8, 7, 6, 5], 'c']);
});

test('the tail limits its rows', () => {
  const full = after({ type: 'page', rows: events(450, 50), cursor: 'a' });
  assert.deepEqual([full.rows?.length, full.cursor, full.trimmed], [MOST_ROWS, null, true]);

  const paused = reduce(full, { type: 'received', rows: events(500, 451), paused: true });
  assert.deepEqual([paused.held.length, (paused.rows?.length ?? 0) + paused.held.length], [50, MOST_ROWS]);
  assert.deepEqual(numbers(reduce(paused, { type: 'resumed' }).rows), numbers(events(500, 101)));

  const flooded = reduce(full, { type: 'received', rows: events(451 + MOST_HELD, 451), paused: true });
  assert.ok(flooded.overflowed);
  assert.equal((flooded.rows?.length ?? 0) + flooded.held.length, MOST_ROWS);
  assert.deepEqual(
    numbers(reduce(flooded, { type: 'resumed' }).rows),
    numbers(events(451 + MOST_HELD, 452)),
    'no row is older than the gap',
  );
});
