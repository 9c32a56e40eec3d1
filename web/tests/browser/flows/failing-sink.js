/** A failing sink is shown with the receiver's error message; after the receiver is repaired, a resend arrives. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

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
}
