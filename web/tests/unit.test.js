// Unit tests without a browser: `npm run unit`.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { highlight } from '../app/src/lib/highlight.js';
import { parseJson } from '../app/src/lib/json.js';
import { QUOTAS, quotaPatch } from '../app/src/lib/quotas.js';
import { eventParser } from '../app/src/lib/stream.js';
import { findRoute } from '../app/src/routes.js';

test('highlighting never changes the text', () => {
  const texts = [
    'def f(x):\n    """doc',
    "x = 'open\ny = 1_000 # c",
    '{"a": [1, true, "<b>"]',
    '{"a": "${{ event.type }} in $5", {% if x %}',
    '',
    '"""',
    '$ svc --help "x',
  ];
  for (const language of /** @type {const} */ (['python', 'json', 'template', 'shell', 'toml', 'javascript'])) {
    for (const text of texts)
      assert.equal(
        highlight(text, language)
          .map(([, part]) => part)
          .join(''),
        text,
      );
  }
});

test('highlighting recognises strings, keys and keywords', () => {
  const kinds = (/** @type {string} */ text, /** @type {any} */ language) =>
    highlight(text, language).filter(([kind]) => kind);
  assert.deepEqual(kinds('def main(): return "x" # y', 'python'), [
    ['keyword', 'def'],
    ['name', 'main'],
    ['keyword', 'return'],
    ['string', '"x"'],
    ['comment', '# y'],
  ]);
  assert.deepEqual(
    kinds('{"a": "b", "n": -1.5, "t": true}', 'json').map(([kind]) => kind),
    ['key', 'string', 'key', 'number', 'key', 'literal'],
  );
  assert.deepEqual(kinds('{"a": ${{ event.data }}}', 'template'), [
    ['key', '"a"'],
    ['meta', '${{ event.data }}'],
  ]);
});

test('a JSON error has a line and a column', () => {
  const check = (/** @type {string} */ text, /** @type {number} */ line, /** @type {number} */ column) => {
    const parsed = parseJson(text);
    assert.equal(parsed.ok, false, text);
    if (!parsed.ok) assert.deepEqual([parsed.line, parsed.column], [line, column], text);
  };
  check('{\n  "a": 1,\n}', 3, 1);
  check('{"a" 1}', 1, 6);
  check('[1, 2', 1, 6);
  check("{'a': 1}", 1, 2);
  check('{"a": 01}', 1, 7);
  check('', 1, 1);
  check('{"a": 1} x', 1, 10);
  assert.deepEqual(parseJson('{"a": [1, {"b": null}]}'), { ok: true, value: { a: [1, { b: null }] } });
});

test('events are parsed from chunks of any size', () => {
  const text = ': still here\n\nid: 1\nevent: custom.a\ndata: {"x":1}\n\nevent: lagged\ndata: {"missed":2}\n\n';
  for (const size of [1, 3, 7, text.length]) {
    /** @type {any[]} */
    const events = [];
    const parse = eventParser((event) => events.push(event));
    for (let at = 0; at < text.length; at += size) parse(text.slice(at, at + size));
    assert.deepEqual(events, [
      { id: '1', type: 'custom.a', data: { x: 1 } },
      { id: '1', type: 'lagged', data: { missed: 2 } },
    ]);
  }
});

test('an address resolves to its page', () => {
  const check = (/** @type {string} */ path, /** @type {string} */ title, params = {}) => {
    const found = findRoute(path);
    assert.deepEqual([found.title, found.params], [title, params], path);
  };
  check('/', 'Overview');
  check('/sinks/new', 'New sink');
  check('/sinks/019a', 'Sink', { id: '019a' });
  check('/methods/user.ada.notes%2Fadd', 'Method', { name: 'user.ada.notes/add' });
  check('/methods/%zz', 'Method', { name: '%zz' });
  check('/nothing/here', 'Not found');
});

test('a quota patch contains changes, and null for the default of the server', () => {
  const stored = { sinks: 500, spaces: 3 };
  assert.deepEqual(quotaPatch(stored, {}), {});
  assert.deepEqual(quotaPatch(stored, { sinks: '500', tokens: '' }), {});
  assert.deepEqual(quotaPatch(stored, { sinks: ' 7 ', spaces: '', streams: '0' }), {
    sinks: 7,
    spaces: null,
    streams: 0,
  });
  for (const text of ['-1', '1.5', 'many', '9007199254740992'])
    assert.throws(() => quotaPatch(stored, { sinks: text }), /whole number/, text);
  assert.equal(new Set(QUOTAS.map(([name]) => name)).size, QUOTAS.length);
});
