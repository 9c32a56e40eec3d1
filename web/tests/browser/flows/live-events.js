/** The events page is live: new events appear, filters apply, and during a pause new events are only counted. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function liveEvents(scene) {
  const page = await scene.open(scene.facts.ann);
  const filtered = await scene.open(scene.facts.ann);
  await page.goto('/events');
  await filtered.goto('/events?pattern=custom.order.*');
  for (const one of [page, filtered]) {
    await seePage(one, 'Events');
    await see(one.getByRole('status').getByText('Live'));
  }
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  await scene.meanwhile('emit');
  const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
  await see(rows.filter({ hasText: 'custom.order.shipped' }));
  await see(rows.filter({ hasText: 'custom.invoice.sent' }));
  await see(filtered.getByText('custom.order.shipped'));
  assert.equal(await filtered.getByText('custom.invoice.sent').count(), 0, 'the filter in the address applies');

  // While paused, an event is counted; after resuming it is shown.
  await page.getByRole('button', { name: 'Pause' }).click();
  await scene.meanwhile('emit while it pauses');
  await see(page.getByText('1 new event'));
  assert.equal(await rows.filter({ hasText: 'custom.order.returned' }).count(), 0);
  assert.match(page.url(), /paused=1/);
  await page.getByRole('button', { name: 'Resume' }).click();
  await see(rows.filter({ hasText: 'custom.order.returned' }));
  assert.ok(await page.evaluate(() => 'sameDocument' in window), 'no page reload');

  // The filter applies to the rows and is stored in the address.
  await page.getByLabel('Pattern').fill('custom.invoice.*');
  await seeNo(rows.filter({ hasText: 'custom.order.shipped' }));
  await see(rows.filter({ hasText: 'custom.invoice.sent' }));
  assert.equal(new URL(page.url()).searchParams.get('pattern'), 'custom.invoice.*');
  await page.getByRole('button', { name: 'custom.invoice.sent' }).click();
  const drawer = page.getByRole('dialog');
  await see(drawer.getByText('"R-4"'));
  await page.keyboard.press('Escape');
  await seeNo(drawer);
}
