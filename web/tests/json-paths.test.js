/** Paths of JSON members, the search in JSON, and the strings of TOML. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { highlight } from '../app/src/lib/highlight.js';
import { FOUND_MAX, pathText, searchJson } from '../app/src/lib/json-paths.js';

test('a path is written as JSONPath', () => {
  assert.equal(pathText([]), '$');
  assert.equal(pathText(['orders', 0, 'full name', 'a"b']), '$.orders[0]["full name"]["a\\"b"]');
  assert.equal(pathText(['0']), '$["0"]');
});

test('a search finds keys and values, in upper or lower case', () => {
  const value = { name: 'Bolt', parts: [{ size: 'M4' }, { size: null, bolted: true }], n: 12.5 };
  const found = (/** @type {string} */ text) => searchJson(value, text).found.map(pathText);
  assert.deepEqual(found('bolt'), ['$.name', '$.parts[1].bolted']);
  assert.deepEqual(found('null'), ['$.parts[1].size']);
  assert.deepEqual(found('12.5'), ['$.n']);
  assert.deepEqual(found('m4'), ['$.parts[0].size']);
  assert.deepEqual(found('nothing'), []);
});

test('a search in a large value ends', () => {
  const { found, hasMore } = searchJson(Array(10_000).fill('same'), 'same');
  assert.equal(found.length, FOUND_MAX);
  assert.ok(hasMore);
});

test('strings of TOML end where TOML ends them', () => {
  const strings = (/** @type {string} */ text) =>
    highlight(text, 'toml')
      .filter(([kind]) => kind === 'string')
      .map(([, part]) => part);
  assert.deepEqual(strings('a = """one\ntwo"""\nb = 1'), ['"""one\ntwo"""']);
  assert.deepEqual(strings("a = '''one\ntwo'''\nb = 1"), ["'''one\ntwo'''"]);
  assert.deepEqual(strings("path = 'C:\\'\nb = 'x'"), ["'C:\\'", "'x'"]);
});
