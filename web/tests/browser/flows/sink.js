/** A sink is previewed and created in the page. The page then emits an event, and the sink delivers it. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function sink(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/sinks');
  await seePage(page, 'Sinks');
  await see(page.getByText('svc sink create'));
  await page.getByRole('link', { name: 'New sink' }).first().click();
  await seePage(page, 'New sink');
  await page.getByLabel('Name', { exact: true }).fill('desk');
  await page.getByLabel('Patterns').fill('custom.order.*');
  await page.getByLabel('URL').fill(scene.facts.receiver);

  // A draft survives a reload, without its secrets.
  await page.getByLabel('Signing secret').fill('whsec_c2VjcmV0');
  await page.reload();
  await seePage(page, 'New sink');
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'desk');
  assert.equal(await page.getByLabel('URL').inputValue(), scene.facts.receiver);
  assert.equal(await page.getByLabel('Signing secret').inputValue(), '');
  await page.getByRole('button', { name: 'Discard changes' }).click();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '');
  await page.getByLabel('Name', { exact: true }).fill('desk');
  await page.getByLabel('Patterns').fill('custom.order.*');
  await page.getByLabel('URL').fill(scene.facts.receiver);

  // The preview evaluates patterns and body while the user types.
  await see(page.getByText('Takes custom.order.test'));
  await page.getByRole('radio', { name: 'Template' }).check({ force: true });
  await page.getByLabel('Body template').fill('{"parcel": ${{ event.data | tojson }}, "from": "shop"}');
  await see(page.getByRole('region', { name: 'preview' }).getByText('"shop"'));
  await page.getByLabel('Keep requests and responses').check();
  await page.getByRole('button', { name: 'Create sink' }).click();
  const secret = page.getByRole('dialog', { name: 'Signing secret' });
  assert.match((await secret.getByRole('region', { name: 'secret', exact: true }).innerText()).trim(), /^whsec_/);
  await secret.getByRole('button', { name: 'Done' }).click();
  await seePage(page, 'desk');
  await see(page.getByText('Nothing delivered yet'));
  const address = page.url();

  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Events' }).click();
  await seePage(page, 'Events');
  await page.getByRole('button', { name: 'Emit event' }).click();
  const form = page.getByRole('dialog', { name: 'Emit a custom event' });
  await form.getByLabel('Type').fill('order.shipped');
  await form.getByLabel('Payload').fill('{"order": "A-17"');
  await see(form.getByText(/line 1/i));
  assert.ok(await form.getByRole('button', { name: 'Emit event' }).isDisabled(), 'invalid JSON is not sent');
  await form.getByLabel('Payload').fill('{"order": "A-17"}');

  // A reload keeps what was typed, and emitting removes the draft.
  await page.reload();
  await page.getByRole('button', { name: 'Emit event' }).click();
  assert.equal(await form.getByLabel('Type').inputValue(), 'order.shipped');
  assert.equal(await form.getByLabel('Payload').inputValue(), '{"order": "A-17"}');
  await form.getByRole('button', { name: 'Emit event' }).click();

  // The drawer of the new event lists its receivers.
  const drawer = page.getByRole('dialog', { name: 'custom.order.shipped' });
  await see(drawer.getByRole('link', { name: 'desk' }));
  await see(drawer.getByText('HTTP 200'));
  assert.deepEqual(await drafts(page), []);
  const event = new URL(page.url()).searchParams.get('event');
  await scene.meanwhile('look at the receiver', event);

  await drawer.getByRole('link', { name: 'desk' }).click();
  await seePage(page, 'desk');
  assert.equal(page.url(), address);
  const row = page
    .getByRole('table', { name: 'Deliveries' })
    .getByRole('row')
    .filter({ hasText: 'custom.order.shipped' });
  await see(row.getByText('delivered'));
  await row.getByRole('button', { name: /custom\.order\.shipped/ }).click();
  const delivery = page.getByRole('dialog', { name: 'Delivery #1' });
  await see(delivery.getByText('HTTP 200'));
  await page.keyboard.press('Escape');
  await seeNo(delivery);

  // The setting is shown and can be changed.
  const keeps = async () => {
    const stored = await page.request.get(`/api/event-sinks/${address.split('/').at(-1)}`);
    return (await stored.json()).delivery?.keep_exchanges;
  };
  assert.equal(await keeps(), true);
  await page.getByRole('tab', { name: 'Settings' }).click();
  const keep = page.getByLabel('Keep requests and responses');
  assert.ok(await keep.isChecked());
  await keep.uncheck();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await seeToast(page, 'Sink saved');
  assert.equal((await keeps()) ?? false, false);
}

/** The names of the stored drafts. @param {import('playwright-core').Page} page */
function drafts(page) {
  return page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('svc.draft.')));
}
