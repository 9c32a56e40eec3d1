/**
 * A sink that the service paused, a sink that sends past events again, and a space whose registration was refused are
 * shown as such on every page: lists, their own pages, the overview, the navigation, the title and the palette.
 */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function states(scene) {
  const { ann } = scene.facts;
  const page = await scene.open(ann);
  await everywhere(page, scene);
  await onThePhone(scene);
  await pausedSink(page, scene);
  await resentSink(page, scene);
  await refusedSpace(page, scene);
}

/** @param {Page} page @param {import('../scene.js').Scene} scene */
async function everywhere(page, { facts }) {
  const { partner, space } = facts;
  await page.goto('/');
  const sinks = page.getByRole('list', { name: 'Failing sinks' });
  await see(sinks.getByRole('link', { name: partner.name }));
  await see(sinks.locator('.tone-bad', { hasText: /^paused$/ }));
  await see(sinks.getByText(/service paused this sink/));
  await see(sinks.getByText(/in the queue, more are held/));
  const spaces = page.getByRole('list', { name: 'Failing spaces' });
  await see(spaces.getByRole('link', { name: space.name }));
  await see(spaces.getByText(/registration was refused/i));
  const navigation = page.getByRole('navigation', { name: 'Main' });
  await see(navigation.getByRole('link', { name: /^Spaces.*1 failing/ }));
  await see(navigation.getByRole('link', { name: /^Sinks.*2 failing/ }));
  await page.waitForFunction(() => document.title.startsWith('(3) '));
  assert.deepEqual(await check(page), []);

  await page.goto('/sinks');
  const rows = page.getByRole('table', { name: 'Sinks' }).getByRole('row');
  await see(rows.nth(1).getByText(partner.name));
  await see(rows.nth(1).locator('.tone-bad', { hasText: /^paused$/ }));
  await see(rows.filter({ hasText: 'by-hand' }).locator('.tone-neutral', { hasText: /^disabled$/ }));
  await see(page.getByText('Failing 2'));
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog', { name: 'Go to' });
  await dialog.getByRole('combobox').fill(partner.name);
  await see(dialog.getByRole('option', { name: /partner.*paused.*Sink/ }));
  await page.keyboard.press('Escape');
}

/** @param {import('../scene.js').Scene} scene */
async function onThePhone(scene) {
  const page = await scene.open(scene.facts.ann, { viewport: { width: 390, height: 844 } });
  await page.goto('/');
  const list = page.getByRole('list', { name: 'Failing spaces' });
  await see(list);
  const box = await list.boundingBox();
  assert.ok(box && box.y < 844, `what fails is on the first screen: ${box?.y}`);
  await see(page.getByRole('link', { name: '3 failing, see the overview' }));
  await page.close();
}

/** @param {Page} page @param {import('../scene.js').Scene} scene */
async function pausedSink(page, scene) {
  const { partner } = scene.facts;
  const main = page.getByRole('main');
  await page.goto(`/sinks/${partner.id}`);
  await seePage(page, partner.name);
  await see(main.locator('.notice.tone-bad').getByText(/service paused this sink: .*failed/));
  await see(main.getByText(/^Since .*Waiting: \d+ in the queue, more are held/));
  await see(main.getByText(/New events are held, and follow when the sink is resumed/));
  await see(main.getByText(/After one failed attempt of a delivery, the service pauses this sink/));
  // Its delivery waits: no attempt is coming.
  await see(page.getByRole('table', { name: 'Deliveries' }).getByText('waits, sink paused'));
  assert.equal(await main.locator('.dot-pulse').count(), 0);
  assert.deepEqual(await check(page), []);
  await see(main.getByRole('button', { name: 'Test', exact: true }));
  await scene.meanwhile('repair the receiver');
  await main.getByRole('button', { name: 'Resume' }).click();
  await seeToast(page, 'Sink resumed');
  await see(main.locator('.page-header .tone-good', { hasText: /^active$/ }));

  await page.goto(`/sinks/${scene.facts.byHand.id}`);
  await see(main.getByText('A user disabled this sink.'));
  await see(main.getByText(/New events are not queued and are not delivered when the sink is enabled/));
}

/** @param {Page} page @param {import('../scene.js').Scene} scene */
async function resentSink(page, scene) {
  const { billing } = scene.facts;
  const main = page.getByRole('main');
  await page.goto(`/sinks/${billing.id}`);
  await see(main.getByText(/was given up after its last attempt/));
  await scene.meanwhile('hang the receiver');
  await main.getByRole('button', { name: 'Resend all dead' }).click();
  await page.getByRole('button', { name: 'Resend 80' }).click();
  await seeToast(page, '80 deliveries queued again');
  await see(main.locator('.page-header .tone-accent', { hasText: /^resending 50 of 80$/ }));
  await see(main.getByText('50 past events of 80 queued again', { exact: false }));
  assert.equal(await main.getByText(/not sent again/i).count(), 0, 'no banner says that they are not sent again');
  await see(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sinks' }));
  await page.goto('/sinks');
  const row = page.getByRole('table', { name: 'Sinks' }).getByRole('row').filter({ hasText: billing.name });
  await see(row.locator('.tone-accent', { hasText: /^resending 50 of 80$/ }));
  await scene.meanwhile('release the receiver');
  await see(row.locator('.tone-good', { hasText: /^active$/ }));
}

/** @param {Page} page @param {import('../scene.js').Scene} scene */
async function refusedSpace(page, { facts }) {
  const { space, local } = facts;
  const main = page.getByRole('main');
  await page.goto('/spaces');
  const rows = page.getByRole('table', { name: 'Spaces' }).getByRole('row');
  await see(rows.nth(1).getByText(space.name));
  await see(rows.nth(1).locator('.tone-bad', { hasText: /^registration refused$/ }));
  assert.equal(await rows.nth(1).getByText('deployed', { exact: true }).count(), 0);
  await page.goto(`/spaces/${space.id}`);
  await see(main.locator('.page-header .tone-bad', { hasText: /^registration refused$/ }));
  await see(main.locator('.notice.tone-bad').getByText('The registration was refused', { exact: true }));

  // A space that the server runs names its folder, and the commands to publish methods there.
  await page.goto(`/spaces/${local.id}`);
  await seePage(page, local.name);
  await see(main.getByText('On the machine of the server', { exact: false }));
  const commands = await main.getByRole('region', { name: 'commands that publish methods' }).innerText();
  assert.equal(commands.trim(), `cd ${local.folder}\nsvc methods register methods.toml`);
}
