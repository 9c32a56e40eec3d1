/** Recorded calls: live, filtered, paged, opened, made again; the calls and callers of one method. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { check } from '../accessibility.js';
import { expectUsable } from '../oauth.js';
import { see, seeClipboard, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function calls(scene) {
  const { ann, ben } = scene.facts;
  const page = await scene.open(ann);
  const rows = page.getByRole('table', { name: 'Calls' }).locator('tbody tr');

  await live(scene, page, rows);
  await filters(page, rows);
  await callAgain(scene, page, rows);
  await recorded(scene, page, rows);
  await ofOneMethod(scene, page);
  await callersOfManyCalls(scene, page);

  // A caller who does not own the method sees only their own calls, and no space.
  const other = await scene.open(ben);
  await other.goto('/calls');
  const own = other.getByRole('table', { name: 'Calls' }).locator('tbody tr');
  await see(own.getByText('user.ann.total'));
  assert.equal(await own.filter({ hasText: 'ann' }).filter({ hasNotText: 'user.ann.' }).count(), 0);
  await own.first().getByRole('button').click();
  await see(other.getByRole('dialog').getByText('Call id'));
  assert.equal(await other.getByRole('dialog').getByText('Space').count(), 0);

  // For an id that does not exist, the drawer shows an error.
  await page.goto('/calls?call=00000000-0000-7000-8000-000000000000');
  await see(page.getByRole('dialog').getByRole('alert'));
  scene.expectNoErrors(/404/);
}

/** @param {import('../scene.js').Scene} scene @param {Page} page @param {import('playwright-core').Locator} rows */
async function live(scene, page, rows) {
  await page.goto('/calls');
  await seePage(page, 'Calls');
  await see(page.getByRole('status').getByText('Live'));
  await see(page.getByText('No calls yet'));
  await page.screenshot({ path: `${scene.results}/empty.png` });
  await scene.meanwhile('call');
  await see(rows.filter({ hasText: 'refund' }).getByText('method error'));
  await see(rows.filter({ hasText: 'total' }).filter({ hasText: 'ben' }));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/calls.png` });

  // While the table is paused, a new call is only counted. After Resume, the call is shown.
  await page.getByRole('button', { name: 'Pause' }).click();
  await scene.meanwhile('call while it pauses');
  await see(page.getByText('1 new call'));
  assert.equal(await rows.filter({ hasText: 'missing' }).count(), 0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await see(rows.filter({ hasText: 'missing' }).getByText('not found'));
}

/** @param {Page} page @param {import('playwright-core').Locator} rows */
async function filters(page, rows) {
  const address = () => Object.fromEntries(new URL(page.url()).searchParams);
  await page.getByLabel('Outcome').selectOption('method error');
  await seeNo(rows.filter({ hasText: 'total' }));
  await see(rows.filter({ hasText: 'refund' }));
  assert.deepEqual(address(), { outcome: 'error' });
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('Caller').fill('ben');
  await page.waitForURL(/[?&]caller=ben(&|$)/);
  await seeNo(rows.filter({ hasText: 'refund' }));
  await see(rows.filter({ hasText: 'ben' }));
  await page.getByLabel('Time range').selectOption('Last hour');
  await see(page.getByText('Page 1, 1 call'));
  assert.deepEqual(address(), { caller: 'ben', range: '1h' });
  await page.goto('/calls?slower=soon');
  await see(page.getByRole('alert').getByText('not a number of milliseconds'));
  await page.goto('/calls?range=own&until=2020-01-01T00:00:00Z');
  await see(page.getByText('No call matches'));

  // Paging reaches the oldest call, and the table stays small.
  await page.goto('/calls?range=24h&method=total');
  await see(page.getByText('Page 1, 50 calls'));
  await page.getByRole('button', { name: 'Older' }).click();
  await see(page.getByText('Page 2, 21 calls'));
  assert.equal(await rows.count(), 21);
  assert.ok(await page.getByRole('button', { name: 'Older' }).isDisabled());
}

/** @param {import('../scene.js').Scene} scene @param {Page} page @param {import('playwright-core').Locator} rows */
async function callAgain(scene, page, rows) {
  await page.goto('/methods/echo');
  await page.getByLabel('Params as JSON').fill('{"order": "A-17"}');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('A-17'));
  await results(scene, page);
  await page.getByLabel('Params as JSON').fill('{"order": "another"}');
  await page.goto('/calls?method=echo');
  // The newest of the three calls is the first row when all of them are recorded.
  await see(rows.nth(2));
  await rows.first().getByRole('button').click();
  const drawer = page.getByRole('dialog', { name: 'echo' });
  await see(drawer.getByText('This tab made the call'));
  await see(drawer.getByRole('link', { name: 'shop' }));
  await see(drawer.getByText('session'));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/drawer.png` });
  await drawer.getByRole('button', { name: 'Call again' }).click();
  await seePage(page, 'echo');
  await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('A-18'));

  // A draft of the params survives a reload; secrets are not kept.
  await page.getByLabel('Params as JSON').fill('{"order": "a draft"}');
  await page.reload();
  await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('a draft'));
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.goto('/methods/login');
  await page.getByLabel('Params as JSON').fill('{"pin": "4711"}');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('4711'));
  await page.reload();
  await seePage(page, 'login');
  await see(page.getByRole('button', { name: 'Call', exact: true }));
  const stored = await page.evaluate(() => JSON.stringify({ ...sessionStorage }));
  assert.ok(!stored.includes('4711'), stored);
}

/**
 * The result of a call is searched, a path is copied, the result is saved as a file, and two results are compared.
 * @param {import('../scene.js').Scene} scene
 * @param {Page} page
 */
async function results(scene, page) {
  const outcome = page.getByRole('region', { name: 'Outcome' });
  const result = outcome.getByRole('region', { name: 'result', exact: true });
  const call = async (/** @type {string} */ params) => {
    await page.getByLabel('Params as JSON').fill(params);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
  };
  await call(
    '{"order": "A-17", "parts": [{"name": "bolt", "full name": "M4"}, {"name": "nut"}], "big": 12345678901234567890}',
  );
  await see(result.getByText('"nut"'));
  await outcome.getByLabel('Search in result').fill('m4');
  await see(outcome.getByText('1 match', { exact: true }));
  await seeNo(result.getByText('"nut"'));
  await result.getByText('"M4"').click();
  await outcome.getByRole('button', { name: 'Copy path' }).click();
  await seeClipboard(page, /^\$\.parts\[0\]\["full name"\]$/);
  await outcome.getByLabel('Search in result').fill('nowhere');
  await see(result.getByText('Nothing found.'));
  await outcome.getByLabel('Search in result').fill('');
  await see(result.getByText('"nut"'));
  // The keys move from line to line and close branches.
  await result.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowLeft');
  await seeNo(result.getByText('"nut"'));
  await page.keyboard.press('ArrowRight');
  await see(result.getByText('"nut"'));
  const saving = page.waitForEvent('download');
  await outcome.getByRole('button', { name: 'Download result' }).click();
  const file = await saving;
  assert.equal(file.suggestedFilename(), 'result.json');
  assert.match(readFileSync(await file.path(), 'utf8'), /"big": 12345678901234567890/);
  await expectUsable(page, 'the result of a call');

  // The last two results are chosen at first.
  await call('{"order": "A-18", "parts": [], "big": 1}');
  await see(result.getByText('"A-18"'));
  await page.getByText('Compare two results').click();
  const differences = page.getByRole('region', { name: 'Differences' });
  await see(differences.getByText(/−.*"A-17"/));
  await see(differences.getByText(/\+.*"A-18"/));
  await differences.scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${scene.results}/compared.png` });
  await page.getByLabel('To', { exact: true }).selectOption({ index: 1 });
  await see(page.getByText('No difference.').or(differences.getByText('"A-17"')));
  await expectUsable(page, 'the comparison of two results');
}

/** @param {import('../scene.js').Scene} scene @param {Page} page @param {import('playwright-core').Locator} rows */
async function recorded(scene, page, rows) {
  await page.goto('/methods/pay');
  await see(page.getByText('The publisher records params and results of calls'));
  await see(page.getByText('Not recorded: /card'));
  assert.deepEqual(await check(page), []);
  await page.getByLabel('Params as JSON').fill('{"card": "4111", "order": 12345678901234567890}');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('4111'));
  await page.goto('/calls?method=pay');
  await rows.first().getByRole('button').click();
  const drawer = page.getByRole('dialog', { name: 'pay' });
  for (const name of ['params', 'result']) {
    const payload = drawer.getByRole('region', { name: `recorded ${name}` });
    await see(payload.getByText('"[redacted]"'));
    await see(payload.getByText('12345678901234567890'));
  }
  assert.equal(await drawer.getByText('4111').count(), 0);
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/recorded.png` });

  // Another tab has not sent the call: "Call again" uses the recorded params.
  const other = await scene.open(scene.facts.ann);
  await other.goto('/calls?method=pay');
  await other.getByRole('table', { name: 'Calls' }).locator('tbody tr').first().getByRole('button').click();
  const again = other.getByRole('dialog', { name: 'pay' });
  await see(again.getByText('Some values are not recorded: replace [redacted] before you call.'));
  assert.deepEqual(await check(other), []);
  await other.screenshot({ path: `${scene.results}/again.png` });
  await again.getByRole('button', { name: 'Call again' }).click();
  await seePage(other, 'pay');
  await other.waitForFunction(() => document.querySelector('textarea')?.value.includes('"[redacted]"'));
  assert.match(await other.getByLabel('Params as JSON').inputValue(), /"order": 12345678901234567890/);

  // A recorded call is compared with another one.
  await page.goto('/methods/pay');
  await page.getByLabel('Params as JSON').fill('{"card": "4111", "order": 7}');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('4111'));
  await page.goto('/calls?method=pay');
  await see(rows.nth(1));
  await rows.first().getByRole('button').click();
  await drawer.getByText('Compare with another call').click();
  await drawer.getByLabel('Other call').selectOption({ index: 1 });
  const differences = drawer.getByRole('region', { name: 'Differences' });
  await see(differences.getByText(/−.*12345678901234567890/));
  await see(differences.getByText(/\+.*"order": 7/));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/compared-calls.png` });
}

/** @param {import('../scene.js').Scene} scene @param {Page} page */
async function ofOneMethod(scene, page) {
  await page.goto('/methods/total');
  await page.getByRole('tab', { name: 'Calls' }).click();
  await see(page.getByText('71 calls in the last 7 days.'));
  const callers = page.getByRole('table', { name: 'Callers' }).locator('tbody tr');
  await see(callers.filter({ hasText: 'ann' }).getByText('70 calls'));
  await see(callers.filter({ hasText: 'ben' }).getByText('1 call'));
  await see(page.getByRole('img', { name: /Duration of 71 calls: half within/ }));
  for (const [range, start] of [
    ['1 h', '60 min ago'],
    ['30 d', '30 days ago'],
  ]) {
    await page.getByText(range, { exact: true }).click();
    await see(page.getByRole('img', { name: `Calls since ${start}: 71 calls, 0 failed` }));
    await see(page.getByRole('img', { name: new RegExp(`latency since ${start}: \\d`) }));
  }
  assert.equal(new URL(page.url()).searchParams.get('range'), '30d');
  await page.getByText('Show as table').first().click();
  const numbers = page.getByRole('region', { name: 'Calls, as a table' }).locator('tbody td:nth-child(2)');
  await see(numbers);
  const sum = (await numbers.allInnerTexts()).reduce((all, one) => all + Number(one), 0);
  assert.equal(sum, 71, 'the table has every call of the chart');
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/method.png`, fullPage: true });

  // The form keeps its state while the other tab is open.
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByLabel('Params as JSON').fill('{"a": 40, "b": 2}');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('42'));
  await page.getByRole('tab', { name: 'Calls' }).click();
  await page.getByRole('tab', { name: 'Try it' }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('42'));
}

/**
 * All calls of 7 days are counted for the callers, not only the calls that the page has loaded.
 * @param {import('../scene.js').Scene} scene @param {Page} page
 */
async function callersOfManyCalls(scene, page) {
  await scene.meanwhile('call often');
  await page.goto('/methods/total');
  await page.getByRole('tab', { name: 'Calls' }).click();
  await see(page.getByText('The newest 500 calls, since'));
  const callers = page.getByRole('table', { name: 'Callers' }).locator('tbody tr');
  await see(callers.first().getByText('671 calls'));
  await see(callers.filter({ hasText: 'ben' }).getByText('1 call', { exact: true }));
  await see(page.getByText('Who called this method in the last 7 days, most calls first.', { exact: true }));

  // The page says which calls and callers a summary lacks.
  await page.route('**/api/calls/summary?*', async (route) => {
    const answer = await route.fetch();
    const part = {
      is_complete: false,
      counted_since: new Date().toISOString(),
      other: { groups: 3, calls: 9, failed: 0 },
    };
    await route.fulfill({ response: answer, json: { ...(await answer.json()), ...part } });
  });
  await page.reload();
  await see(page.getByText(/Calls before .* are not counted: there are too many\. 3 more callers made 9 calls\./));
  await page.unroute('**/api/calls/summary?*');
  assert.deepEqual(await check(page), []);
}
