/**
 * A failing sink is shown with the receiver's error message; after the receiver is repaired, a resend arrives. Dropped
 * events are shown in red until they are replayed.
 */
import assert from 'node:assert/strict';

import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function failingSink(scene) {
  const { ann, sink } = scene.facts;
  const page = await scene.open(ann);
  await page.goto('/');
  const failing = page.getByRole('list', { name: 'Failing sinks' });
  await see(failing.getByRole('link', { name: sink.name }));
  await see(failing.getByText('failing', { exact: true }));
  await page.goto('/sinks?state=failing');
  const listed = page.getByRole('table', { name: 'Sinks' }).getByRole('row').filter({ hasText: sink.name });
  await see(listed.getByText('failing', { exact: true }));
  await see(listed.getByText(/500/));
  await listed.getByRole('link', { name: sink.name }).click();
  await seePage(page, sink.name);

  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  const row = deliveries.getByRole('row').filter({ hasText: 'custom.order.shipped' });
  await see(row.getByText('dead'));
  await row.getByRole('button', { name: /custom\.order\.shipped/ }).click();
  const drawer = page.getByRole('dialog', { name: 'Delivery #1' });
  await see(drawer.getByText('out of paper'));
  assert.equal(await drawer.getByText('HTTP 500').count(), 3, 'every attempt is listed');
  await page.keyboard.press('Escape');
  await seeNo(drawer);

  // A later success does not hide the event that the receiver never got.
  await scene.meanwhile('repair the receiver');
  await see(deliveries.getByText('delivered'));
  await page.goto('/');
  await see(failing.getByText('1 dead'));
  await page.waitForFunction(() => document.title.startsWith('(1) '));
  await failing.getByRole('link', { name: sink.name }).click();
  await page.getByRole('button', { name: 'Resend #1' }).click();
  await seeNo(page.getByRole('main').getByText('1 dead'));
  await seeNo(page.getByRole('main').getByText('failing', { exact: true }));
  await see(page.getByRole('main').getByText('active', { exact: true }));
  await page.goto('/');
  await see(page.getByText('No sink of yours fails'));
  await dropped(page, scene, failing);
}

/**
 * @param {import('playwright-core').Page} page that shows the overview
 * @param {import('../scene.js').Scene} scene
 * @param {import('playwright-core').Locator} failing the list of failing sinks on the overview
 */
async function dropped(page, scene, failing) {
  const { sink } = scene.facts;
  const red = page.locator('.stat-bad, .bad-number, .tone-bad');
  const listed = page.getByRole('table', { name: 'Sinks' }).getByRole('row').filter({ hasText: sink.name });
  const inNavigation = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Sinks/ });
  await scene.meanwhile('overfill the queue');
  await page.goto('/');
  await see(page.getByRole('link', { name: /^Sinks active/ }).locator('.stat-bad', { hasText: /^3 dropped$/ }));
  await see(failing.locator('.tone-bad', { hasText: '3 dropped' }));
  await see(inNavigation.locator('.nav-alert', { hasText: /^1$/ }));
  await page.waitForFunction(() => document.title.startsWith('(1) '));
  await page.goto('/sinks?state=failing');
  await see(listed.locator('.tone-bad', { hasText: '3 dropped' }));
  await see(listed.locator('.bad-number', { hasText: /^3$/ }));

  // The page of the sink names the way out. Its dialog counts only the dropped events.
  await listed.getByRole('link', { name: sink.name }).click();
  await see(page.getByText('Not delivered and not sent again: 3 dropped.'));
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  const replay = page.getByRole('dialog', { name: 'Replay past events' });
  assert.ok(await replay.getByLabel('Only events that were not delivered').isChecked());
  await replay.getByRole('button', { name: 'Count' }).click();
  await see(replay.getByText('3 events match'));
  await replay.getByRole('button', { name: 'Replay', exact: true }).click();
  await seeToast(page, '3 events queued');
  const last = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').filter({ hasText: '#106' });
  await see(last.getByText('delivered'));
  await see(page.getByRole('main').getByText('active', { exact: true }));

  await page.goto('/');
  await see(page.getByText('No sink of yours fails'));
  assert.equal(await red.count(), 0, 'nothing is red');
  assert.equal(await inNavigation.locator('.nav-alert').count(), 0);
  await page.waitForFunction(() => !document.title.startsWith('('));
  await page.goto('/sinks');
  await see(listed.getByTitle('3 dropped in total'));
  assert.equal(await red.count(), 0, 'nothing is red');
}
