/** Small charts in the lists of methods and sinks, the statistics of a sink, and the page of a method. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { expectUsable } from '../oauth.js';
import { see, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function statistics(scene) {
  const page = await scene.open(scene.facts.ann);
  await methods(scene, page);
  await sinks(scene, page);
  await documentation(page);
}

/** One request loads the statistics of all rows. @param {import('../scene.js').Scene} scene @param {Page} page */
async function methods(scene, page) {
  /** @type {string[]} */
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto('/methods');
  const rows = page.getByRole('table', { name: 'Methods' }).locator('tbody tr');
  const row = (/** @type {string} */ name) => rows.filter({ hasText: name });
  await see(row('orders.total').getByRole('img', { name: '12 calls in the last 24 hours, 0 failed' }));
  await see(row('orders.refund').getByRole('img', { name: '1 call in the last 24 hours, 1 failed' }));
  await see(row('orders.create').getByText('none', { exact: true }));
  // The list shows the chart only for the own methods of the user.
  await see(row('user.ben.greet').getByTitle('Known to the owner only').first());
  assert.equal(asked.filter((path) => path === '/api/stats/activity').length, 1);
  assert.ok(!asked.some((path) => path.startsWith('/api/methods/')), 'no request for a row');
  const head = page.getByRole('columnheader', { name: 'Last 24 h' });
  await head.getByRole('button', { name: 'Last 24 h' }).click();
  await head.getByRole('button', { name: 'Last 24 h' }).click();
  await see(rows.first().getByText('total'));
  await expectUsable(page, 'the list of methods');
  await page.screenshot({ path: `${scene.results}/methods.png` });
}

/** @param {import('../scene.js').Scene} scene @param {Page} page */
async function sinks(scene, page) {
  const { sink } = scene.facts;
  await page.goto('/sinks');
  const row = page.getByRole('table', { name: 'Sinks' }).locator('tbody tr').filter({ hasText: sink.name }).first();
  await see(row.getByRole('img', { name: /^\d+ attempts? in the last 24 hours, \d+ failed$/ }));
  await expectUsable(page, 'the list of sinks');
  await page.goto(`/sinks/${sink.id}`);
  await page.getByRole('tab', { name: 'Statistics' }).click();
  for (const [range, start] of [
    ['1 h', '60 min ago'],
    ['24 h', '24 h ago'],
    ['7 d', '7 days ago'],
    ['30 d', '30 days ago'],
  ]) {
    await page.getByText(range, { exact: true }).click();
    await see(page.getByRole('img', { name: new RegExp(`^Attempts since ${start}: \\d+ attempts?, \\d+ failed$`) }));
    await see(page.getByRole('img', { name: new RegExp(`latency since ${start}: (\\d|<)`) }));
  }
  assert.equal(new URL(page.url()).searchParams.get('range'), '30d');
  // The value at the pointer replaces the total.
  await page.getByRole('img', { name: /^Attempts since/ }).hover({ position: { x: 5, y: 20 } });
  await see(page.getByText('no attempts').first());
  await expectUsable(page, 'the statistics of a sink');
  await page.screenshot({ path: `${scene.results}/sink.png` });
}

/** The page of a method: provider, health, schema as documentation, and snippets. @param {Page} page */
async function documentation(page) {
  await page.goto('/methods/orders.total');
  await seePage(page, 'orders.total');
  await see(page.getByText('Available', { exact: true }));
  await see(page.getByRole('table', { name: 'Providers' }).getByText('ready'));
  const schema = page.getByRole('region', { name: 'Params schema' });
  await see(schema.getByText('The first amount'));
  await page.getByRole('tab', { name: 'MCP' }).click();
  await see(page.getByRole('tabpanel').getByText('orders_total').first());
  assert.deepEqual(await check(page), []);
}
