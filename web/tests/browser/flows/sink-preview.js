/** The preview and the test of a sink use its format, its filter and its key. */
import assert from 'node:assert/strict';

import { see } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function sinkPreview(scene) {
  const { ann, lake } = scene.facts;
  const page = await scene.open(ann);
  await page.goto(`/sinks/${lake.id}?tab=settings`);
  const preview = page.getByRole('region', { name: 'Try it' });
  await preview.getByLabel('Event type').fill('custom.order.shipped');
  await preview.getByLabel('Event data').fill('{"amount": 7, "order": "A-17"}');
  await see(preview.getByText('Does not take custom.order.shipped'));
  await see(preview.getByText('the filter rejects this event'));
  assert.equal(await preview.getByText('Takes custom.order.shipped').count(), 0);
  await preview.getByLabel('Event data').fill('{"amount": 700, "order": "A-17"}');
  await see(preview.getByText('Takes custom.order.shipped'));
  await see(preview.getByText('the filter accepts this event'));
  await see(preview.getByText('Delivered in order with events of the key A-17'));
  const body = preview.getByRole('region', { name: 'preview' });
  await see(body.getByText('"specversion"'));
  await see(preview.getByRole('list', { name: 'Headers of the format' }).getByText('application/cloudevents+json'));

  await page.getByRole('button', { name: 'Test', exact: true }).click();
  const test = page.getByRole('dialog', { name: `Test ${lake.name}` });
  await test.getByLabel('Event type').fill('custom.order.shipped');
  await test.getByLabel('Event data').fill('{"amount": 7}');
  await test.getByRole('button', { name: 'Dry run' }).click();
  await see(test.getByText('the filter rejects this event'));
  await see(test.getByRole('region', { name: 'body' }).getByText('"specversion"'));
}
