// Redirects and request bodies of pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintWords } from '../app/src/lib/hints.js';
import { againOf } from '../app/src/pages/calls/again.js';
import { isRefusal } from '../app/src/pages/method/refusal.js';
import { bodyOf, sameDraft } from '../app/src/pages/scripts/draft.js';
import { importersOf } from '../app/src/pages/scripts/imports.js';
import { newDraft, newHeader, patchOf } from '../app/src/pages/sinks/draft.js';
import { bodyWith, eventMembers } from '../app/src/pages/sinks/event-members.js';
import { safeNext } from '../app/src/routes.js';

const BIG = '12345678901234567890';

test('signing in redirects only to our own pages', () => {
  const of = (/** @type {string} */ next) => safeNext(next, 'https://svc.example');
  assert.equal(of('/events?pattern=custom.*'), '/events?pattern=custom.*');
  for (const next of [
    '',
    'events',
    '//evil.com',
    '/\\evil.com',
    '/.//evil.com',
    '/x/..//evil.com',
    'https://evil.com',
    'javascript:alert(1)',
    '/\t/evil.com',
    '/login',
    '/login?next=/login',
    '/login/',
    '/setup?token=x',
    '/sign-in#x',
  ]) {
    assert.equal(of(next), '/', next);
  }
});

test('the patch of a sink contains only changes', () => {
  const before = newDraft({
    name: 'a',
    patterns: 'x\ny',
    url: 'https://e.org',
    headers: [newHeader('A', '1'), newHeader('constructor', '2')],
  });
  assert.deepEqual(patchOf(before, { ...before }), {});
  assert.deepEqual(patchOf(before, { ...before, name: ' a ', patterns: 'x, y' }), {}, 'only the notation differs');
  assert.deepEqual(patchOf(before, { ...before, description: 'd', patterns: 'x' }), {
    description: 'd',
    patterns: ['x'],
  });
  assert.deepEqual(patchOf(before, { ...before, headers: [newHeader('A', '3'), newHeader('B', '4')] }), {
    webhook: { headers: { A: '3', B: '4', constructor: null } },
  });
  assert.deepEqual(patchOf(before, { ...before, templated: true, template: '{}' }), {
    webhook: { body_template: '{}' },
  });
  assert.deepEqual(patchOf(before, { ...before, keepExchanges: true }), { delivery: { keep_exchanges: true } });
  const path = { ...before, url: 'https://E.org:443/new' };
  assert.deepEqual(patchOf(before, path), { webhook: { url: 'https://E.org:443/new' } }, 'the same origin');
  const moved = { ...before, url: 'https://f.org' };
  assert.deepEqual(patchOf(before, moved), { webhook: { url: 'https://f.org', secret: null } });
  assert.deepEqual(patchOf(before, { ...moved, secret: ' whsec_x ' }), {
    webhook: { url: 'https://f.org', secret: 'whsec_x' },
  });
  const script = newDraft({ type: 'script', source: 'a' });
  assert.deepEqual(patchOf(script, { ...script, stored: true, scriptId: 'id' }), { script: { script_id: 'id' } });
});

test('a call is made again with the params that the tab sent, or else with the recorded ones', () => {
  const call = /** @type {any} */ ({ method: 'pay' });
  assert.equal(againOf(call, null).params, null);
  assert.equal(againOf({ ...call, params_omitted: 'too_large' }, null).params, null);
  assert.equal(againOf({ ...call, params: { n: 1 } }, '{"n": 2}').params, '{"n": 2}');
  assert.deepEqual(JSON.parse(againOf({ ...call, params: { n: 1 } }, null).params ?? ''), { n: 1 });
  assert.equal(againOf({ ...call, params: { n: '[redacted] text' } }, null).note, '');
  assert.match(againOf({ ...call, params: { cards: [{ n: '[redacted]' }] } }, null).note, /replace \[redacted\]/);
  assert.equal(againOf({ ...call, params: ['[redacted]'] }, '["x"]').note, '');
});

test('a library is used by the scripts that import it', () => {
  let id = 0;
  const script = (/** @type {string} */ name, /** @type {string} */ source, more = {}) =>
    /** @type {any} */ ({ id: String(++id), name, kind: 'tool', owner: 'user', source, ...more });
  const words = script('words', '', { kind: 'library' });
  const everywhere = script('words', '', { kind: 'library', owner: 'global' });
  const users = [
    script('a', 'import words'),
    script('b', 'x = 1\n    import os, words as w  # here'),
    script('c', 'from words import shout'),
    script('d', 'import words.parts'),
  ];
  const others = [
    script('e', 'import wordsmith'),
    script('f', '# import words'),
    script('g', 'from os import words'),
    script('h', 'print("words")'),
  ];
  const global = script('i', 'import words', { owner: 'global' });
  const all = [words, everywhere, ...users, ...others, global];
  assert.deepEqual(importersOf(words, all), users);
  assert.deepEqual(importersOf(everywhere, all), [global], 'the own library replaces the global one');
  assert.deepEqual(importersOf(everywhere, all.slice(1)), [...users, global]);
});

test('a test event is sent as typed', () => {
  assert.equal(eventMembers({ eventId: 'e"1', type: '', data: '' }, 'custom.x'), '"event_id":"e\\"1"');
  assert.equal(eventMembers({ eventId: '', type: '', data: ' ' }, 'custom.x'), '"event_type":"custom.x"');
  assert.equal(eventMembers({ eventId: '', type: 'a', data: '{' }, 'custom.x'), null);
  assert.equal(eventMembers({ eventId: '', type: 'a', data: '{},"dry_run":false' }, ''), null, 'no second member');
  const members = eventMembers({ eventId: '', type: 'a', data: `{"n": ${BIG}}` }, '');
  assert.equal(bodyWith(members ?? '', { dry_run: true }), `{"dry_run":true,"event_type":"a","data":{"n": ${BIG}}}`);
});

test('a schema is sent as typed, and only if it changed', () => {
  const draft = {
    name: ' sum ',
    description: '',
    source: 's',
    schema: `{"default": ${BIG}}`,
    title: '',
    hints: { read_only: true },
  };
  const unstated = '"destructive":null,"idempotent":null,"open_world":null';
  const tool = `{"name":"sum","description":"","source":"s","title":null,"annotations":{"read_only":true,${unstated}}`;
  assert.equal(bodyOf(draft, 'tool'), `${tool},"params_schema":${draft.schema}}`);
  assert.equal(bodyOf(draft, 'tool', { before: { ...draft, source: 'old' } }), `${tool}}`);
  assert.equal(
    bodyOf({ ...draft, schema: ' ' }, 'tool', { before: draft, more: { kind: 'tool' } }),
    `${tool},"kind":"tool","params_schema":null}`,
  );
  assert.match(bodyOf({ ...draft, title: ' Sum ' }, 'tool'), /"title":"Sum"/);
  assert.equal(bodyOf(draft, 'sink'), '{"name":"sum","description":"","source":"s"}');
  assert.throws(() => bodyOf({ ...draft, schema: '{' }, 'tool'), /params schema is not valid JSON/);
});

test('only stated hints are shown, and a change of one changes the draft', () => {
  assert.deepEqual(hintWords({ read_only: true, destructive: false, idempotent: null }), [
    'read-only',
    'not destructive',
  ]);
  assert.deepEqual(hintWords({ openWorldHint: true }, 'mcp'), ['open world']);
  assert.deepEqual(hintWords(undefined), []);
  const draft = { name: 'a', description: '', source: '', schema: '', title: '', hints: {} };
  assert.ok(sameDraft(draft, { ...draft, hints: { read_only: null } }));
  assert.ok(!sameDraft(draft, { ...draft, hints: { read_only: false } }));
  assert.ok(!sameDraft(draft, { ...draft, title: 'A' }));
});

test('a call was refused only if the answer proves it', () => {
  const refused = (/** @type {number} */ status, code = 'unknown') => isRefusal({ status, code });
  for (const status of [400, 401, 403, 413, 429]) assert.ok(refused(status), String(status));
  assert.ok(refused(503, 'database_unavailable'), 'of svc');
  // A reverse proxy may stop waiting for a call that still runs. A failed request has the status 0.
  for (const status of [500, 502, 503, 504, 0]) assert.ok(!refused(status), String(status));
  assert.ok(!refused(500, 'internal'));
  assert.ok(!isRefusal(new Error('The answer is not JSON')));
});
