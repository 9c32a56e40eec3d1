/** The delivery inspector: attempts with their requests, old deliveries, many resends, and a countdown. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeClipboard, seeNo, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function deliveries(scene) {
  const { ann, printer, slow } = scene.facts;
  const page = await scene.open(ann);
  await inspect(page, scene, printer);
  await resend(page, scene, printer);

  // Without a filter, the table shows the delivery that is retried, but not the three that wait behind it.
  await page.goto(`/sinks/${slow.id}`);
  const rows = page.getByRole('table', { name: 'Deliveries' }).getByRole('row');
  await see(rows.getByText('retrying'));
  assert.equal(await rows.count(), 2, 'the head of the table and one delivery');
  await rows.getByRole('button', { name: /custom\.parcel/ }).click();
  const drawer = page.getByRole('dialog', { name: 'Delivery #1' });
  await see(drawer.getByText(/^Next attempt in (1 h|\d+ min)/));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/countdown.png` });
  await page.goto(`/sinks/${slow.id}?state=pending`);
  await see(rows.getByText('#4'));
}

/** @param {Page} page @param {import('../scene.js').Scene} scene @param {{id: string, name: string}} sink */
async function inspect(page, scene, sink) {
  // The filter excludes the delivery, but the address still opens it.
  await page.goto(`/sinks/${sink.id}?state=delivered&delivery=1`);
  await seePage(page, sink.name);
  const drawer = page.getByRole('dialog', { name: 'Delivery #1' });
  await see(drawer.getByText('out of paper'));
  const attempts = drawer.getByRole('list', { name: 'Attempts' });
  assert.equal(await attempts.getByText(/attempt \d, .*\d:\d\d:\d\d/).count(), 3, 'exact times');
  assert.equal(await drawer.getByText('0.00 ms').count(), 0);
  await drawer.getByRole('tab', { name: 'Request' }).click();
  await see(drawer.getByText('POST /hook HTTP/1.1'));
  await see(drawer.getByText('x-service-event-type'));
  await see(drawer.getByText('x-reason'));
  await see(drawer.getByRole('region', { name: 'request body' }).getByText('"A-1"'));
  await drawer.getByRole('button', { name: 'Copy as curl' }).click();
  const curl = await seeClipboard(page, /^curl -sS -X POST '?http:\/\/127\.0\.0\.1/);
  assert.ok(!curl.includes('********'), curl);
  await page.screenshot({ path: `${scene.results}/request.png` });
  await drawer.getByRole('tab', { name: 'Timing' }).click();
  await see(drawer.getByRole('list', { name: 'Timing' }).getByText('Wait for the response'));
  await page.screenshot({ path: `${scene.results}/timing.png` });
  await drawer.getByText('Compare two attempts').click();
  await drawer.getByLabel('From').selectOption({ label: 'Attempt 1' });
  await drawer.getByLabel('To').selectOption({ label: 'Attempt 3' });
  await see(drawer.getByRole('region', { name: 'Differences' }).getByText(/POST \/hook/));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/comparison.png` });
  await page.goto(`/sinks/${sink.id}?delivery=99`);
  await see(page.getByRole('dialog').getByText('is not in the log'));
}

/** @param {Page} page @param {import('../scene.js').Scene} scene @param {{id: string, name: string}} sink */
async function resend(page, scene, sink) {
  await page.goto(`/sinks/${sink.id}`);
  const table = page.getByRole('table', { name: 'Deliveries' });
  await see(table.getByText('#3'));
  await scene.meanwhile('repair the receiver');
  await page.getByLabel('Choose #1').check();
  await page.getByLabel('Choose #2').check();
  await see(page.getByText('2 deliveries chosen'));
  await page.screenshot({ path: `${scene.results}/chosen.png` });
  await page.getByRole('button', { name: 'Resend chosen' }).click();
  await seeToast(page, '2 deliveries queued again');
  // The last delivery succeeded, but one delivery is still dead.
  await see(page.getByRole('main').getByText('1 dead', { exact: true }));
  await see(table.getByRole('link', { name: 'sent again as #4' }));

  await page.getByRole('button', { name: 'Resend all dead' }).click();
  const dialog = page.getByRole('dialog', { name: 'Resend all dead' });
  await see(dialog.getByText('1 dead delivery of'));
  await dialog.getByRole('button', { name: 'Resend 1' }).click();
  await seeNo(dialog);
  await table.getByRole('link', { name: 'sent again as #6' }).click();
  const drawer = page.getByRole('dialog', { name: 'Delivery #6' });
  await see(drawer.getByText('delivered'));
  await drawer.getByRole('link', { name: '#3' }).click();
  await see(page.getByRole('dialog', { name: 'Delivery #3' }).getByText('Sent again as'));
  await page.keyboard.press('Escape');

  await see(page.getByRole('main').getByText('active', { exact: true }));
  // All events have been delivered by now, so no undelivered event is left to replay.
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  const replay = page.getByRole('dialog', { name: 'Replay past events' });
  await replay.getByRole('button', { name: 'Count' }).click();
  await see(replay.getByText('3 events match'));
  await replay.getByLabel('Only events that were not delivered').check();
  await replay.getByRole('button', { name: 'Count' }).click();
  await see(replay.getByText('0 events match'));
  await page.keyboard.press('Escape');
}
