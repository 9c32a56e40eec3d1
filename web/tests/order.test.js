// The order of the rows of a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { nextOrder, sortRows } from '../app/src/lib/order.js';

const columns = [
  { key: 'name', sort: /** @type {const} */ (true) },
  { key: 'depth', sort: (/** @type {any} */ row) => row.depth },
  { key: 'state' },
];
const rows = [
  { name: 'b10', depth: 0 },
  { name: 'A', depth: null },
  { name: 'b9', depth: 12 },
  { name: 'b1', depth: 3 },
];
/** @param {string} order */
const names = (order) => sortRows(rows, columns, order).map((row) => row.name);

test('numbers in names are compared as numbers, and case does not matter', () => {
  assert.deepEqual(names('name'), ['A', 'b1', 'b9', 'b10']);
  assert.deepEqual(names('-name'), ['b10', 'b9', 'b1', 'A']);
});

test('rows without a value come last in both directions', () => {
  assert.deepEqual(names('depth'), ['b10', 'b1', 'b9', 'A']);
  assert.deepEqual(names('-depth'), ['b9', 'b1', 'b10', 'A']);
});

test('an order that the table does not have changes nothing', () => {
  for (const order of ['', '-', 'state', 'nothing', '__proto__']) assert.equal(sortRows(rows, columns, order), rows);
});

test('a click sorts up, then down, then as before', () => {
  assert.equal(nextOrder('', 'name'), 'name');
  assert.equal(nextOrder('name', 'name'), '-name');
  assert.equal(nextOrder('-name', 'name'), '');
  assert.equal(nextOrder('-depth', 'name'), 'name');
});
