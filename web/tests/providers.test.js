import assert from 'node:assert/strict';
import test from 'node:test';

import { formatMappings, formatRequired, parseMappings, parseRequired } from '../app/src/pages/providers/text.js';

test('claims and mappings are unchanged after formatting and parsing', () => {
  const required = { groups: ['staff', 'CN=ops,O=Corp'], iss: ['https://id.example'] };
  assert.deepEqual(parseRequired(formatRequired(required)), required);
  const mappings = [
    { value: 'CN=admins,O=Corp', role: 'admin' },
    { value: 'staff', group: 'day shift' },
  ];
  assert.deepEqual(parseMappings(formatMappings(mappings)), mappings);
  assert.deepEqual(parseMappings(' \n\n'), []);
  assert.deepEqual(parseRequired(''), {});
});

test('an invalid line causes an error that shows the line', () => {
  for (const bad of ['staff', '=x', 'staff=', 'staff']) assert.throws(() => parseRequired(bad), /is not like groups/);
  for (const bad of ['a=b', 'a=team:x', 'a=role:']) assert.throws(() => parseMappings(bad), new RegExp(bad));
});
