/** Actions of a sink: test, keep requests, replay, rotate the secret, edit, disable, delete. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function sinkActions(scene) {
  const { ann, sink } = scene.facts;
  const page = await scene.open(ann);
  await page.goto(`/sinks/${sink.id}`);
  await seePage(page, sink.name);

  await page.getByRole('button', { name: 'Test', exact: true }).click();
  const test = page.getByRole('dialog', { name: `Test ${sink.name}` });
  // The events of the user are an order, which the patterns of the sink match, and an invoice.
  const samples = test.getByLabel('Sample event').locator('option');
  await samples.filter({ hasText: 'custom.order.shipped' }).waitFor({ state: 'attached' });
  assert.equal(await samples.filter({ hasText: 'custom.invoice.sent' }).count(), 0);
  await test.getByRole('button', { name: 'Dry run' }).click();
  await see(test.getByRole('region', { name: 'body' }));
  await scene.meanwhile('nothing was sent');
  await test.getByRole('button', { name: 'Send now' }).click();
  await see(test.getByText('HTTP 200'));
  await test.getByRole('button', { name: 'Close' }).last().click();
  await seeNo(test);

  // The first delivery was made without its request and its response headers, the next one has them.
  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  await deliveries.getByRole('button', { name: /shipped #1$/ }).click();
  const first = page.getByRole('dialog', { name: 'Delivery #1' });
  await see(first.getByText('Request, response headers and timing of these attempts were not kept.'));
  await first.getByRole('button', { name: 'Keep them from now on' }).click();
  await see(first.getByText('Requests and response headers are kept from the next attempt on.'));
  await page.keyboard.press('Escape');
  await seeNo(first);

  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('dialog', { name: 'Replay past events' }).getByRole('button', { name: 'Replay' }).click();
  await seeToast(page, '1 event queued');
  await deliveries.getByRole('button', { name: /shipped #2$/ }).click();
  const second = page.getByRole('dialog', { name: 'Delivery #2' });
  await see(second.getByLabel('Headers of the response').getByText('content-length'));
  await second.getByRole('tab', { name: 'Request' }).click();
  await see(second.getByText(/^http:\/\/127\.0\.0\.1:\d+\/hook$/));
  await page.keyboard.press('Escape');
  await seeNo(second);

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
  await page
    .getByRole('dialog', { name: 'Rotate the signing secret?' })
    .getByRole('button', { name: 'Rotate secret' })
    .click();
  const rotated = page.getByRole('dialog', { name: 'New signing secret' });
  assert.match((await rotated.getByRole('region', { name: 'secret', exact: true }).innerText()).trim(), /^whsec_/);
  await rotated.getByRole('button', { name: 'Done' }).click();

  await page.getByRole('tab', { name: 'Settings' }).click();
  await page.getByLabel('Description').fill('The desk in the hall');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await seeToast(page, 'Sink saved');
  await page.getByRole('button', { name: 'Disable' }).click();
  await see(page.getByText('disabled', { exact: true }));
  await scene.meanwhile('emit to the disabled sink');

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete sink' }).click();
  const asked = page.getByRole('dialog', { name: 'Delete this sink?' });
  assert.ok(await asked.getByRole('button', { name: 'Delete sink' }).isDisabled(), 'the name must be typed');
  await asked.getByLabel(`Type ${sink.name} to confirm`).fill(sink.name);
  await asked.getByRole('button', { name: 'Delete sink' }).click();
  await seePage(page, 'Sinks');
  await seeNo(page.getByRole('table', { name: 'Sinks' }).getByText(sink.name));
}
