// Apps that connect by OAuth: names and scopes of apps, codes that sign in a machine, and addresses to which the
// browser returns.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { displayName, safeRedirect, scopeText, userCode } from '../app/src/lib/oauth.js';
import { CLIENTS } from '../app/src/pages/mcp/clients.js';
import { findRoute, safeNext } from '../app/src/routes.js';

test('the name of an app is one short line without invisible characters', () => {
  assert.equal(displayName('Claude Code'), 'Claude Code');
  assert.equal(displayName('  Ada’s\n\tnotes  '), 'Ada’s notes');
  assert.equal(displayName('<b>Probe</b>'), '<b>Probe</b>', 'markup is text');
  // These characters change the direction of the text after them, or are invisible.
  assert.equal(displayName('Cl\u202Eau\u2066d\u200Be\u0007\uFEFF'), 'Claude');
  assert.equal(displayName(`e${'\u0301'.repeat(50)}`), 'e\u0301\u0301');
  const long = displayName('😀'.repeat(500));
  assert.equal([...long].length, 61);
  assert.ok(long.endsWith('😀…'), 'a character is never cut in half');
  for (const name of ['', ' \n ', '\u200B\u200B', null, undefined])
    assert.equal(displayName(name), 'an app without a name');
});

test('every scope has a text, and an unknown one is named', () => {
  assert.match(scopeText('mcp'), /tools/);
  assert.match(scopeText('methods'), /methods over HTTP/);
  assert.match(scopeText('cli'), /Everything/);
  assert.match(scopeText('later'), /`later`/);
  assert.match(scopeText('constructor'), /`constructor`/, 'a scope named like an inherited property is unknown');
});

test('the code of a machine is accepted in every form that people type', () => {
  for (const text of ['BCDF-GHJK', 'bcdf-ghjk', 'BCDFGHJK', ' bcdf ghjk ', 'bcdf–ghjk', 'B-C-D-F-G-H-J-K'])
    assert.equal(userCode(text), 'BCDF-GHJK', text);
  for (const text of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'ACDF-GHJK', 'BCDF-GHJ1', 'BCDF/GHJK', '../../users'])
    assert.equal(userCode(text), null, text);
});

test('the browser returns only to addresses that run no code in this page', () => {
  for (const address of [
    'https://claude.ai/api/mcp/auth_callback?code=x&state=y',
    'http://127.0.0.1:40123/callback?code=x',
    'cursor://anysphere.cursor-mcp/oauth/callback?code=x',
  ])
    assert.equal(safeRedirect(address), address);
  for (const address of [
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,<b>',
    'vbscript:x',
    'blob:https://svc.example/1',
    'file:///etc/passwd',
    'about:blank',
    '/relative',
    '',
    null,
    7,
  ])
    assert.equal(safeRedirect(address), null, String(address));
});

test('signing in leads back to the question with its query', () => {
  for (const next of ['/connect?request=019a8c1e-0000-7000-8000-000000000000', '/device?code=BCDF-GHJK', '/device']) {
    assert.equal(safeNext(next, 'https://svc.example'), next);
    assert.ok(findRoute(next.split('?')[0]).bare, 'shown without navigation');
  }
});

test('a client that logs in gets the address and no token', () => {
  const entry = { name: 'shop', url: 'https://svc.example/mcp', token: 'svc_pat_secret' };
  for (const { id, login, token } of CLIENTS) {
    assert.ok(login || token, id);
    if (!login) continue;
    const text = login.write(entry);
    assert.ok(text.includes(entry.url), id);
    assert.ok(!/svc_pat|Bearer|Authorization|TOKEN/.test(text), id);
    if (login.language === 'json') assert.doesNotThrow(() => JSON.parse(text), id);
  }
});
