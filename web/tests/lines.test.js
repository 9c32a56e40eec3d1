import assert from 'node:assert/strict';
import { test } from 'node:test';

import { highlight } from '../app/src/lib/highlight.js';
import { cutLines, widestLine } from '../app/src/lib/lines.js';

test('any part of a highlighted text has exactly its lines', () => {
  const text = 'a = 1\n"""one\ntwo\n\nthree"""\n\n# end\nlast = "x"';
  const lines = text.split('\n');
  for (let from = 0; from <= lines.length; from += 1) {
    for (let to = from + 1; to <= lines.length; to += 1) {
      const part = cutLines(highlight(text, 'python'), from, to);
      assert.equal(part.map(([, piece]) => piece).join(''), lines.slice(from, to).join('\n'), `${from} to ${to}`);
    }
  }
});

test('a string that begins above the part keeps its kind', () => {
  const part = cutLines(highlight('x = """one\ntwo\nthree"""', 'python'), 1, 2);
  assert.deepEqual(part, [['string', 'two']]);
});

test('the widest line counts tabs and wide characters', () => {
  assert.equal(widestLine('ab\n\tc\nd'), 5);
  assert.equal(widestLine('日本語\nabc'), 6);
});
