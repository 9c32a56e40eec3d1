/** While the server does not answer, one banner says so, states are grey, and no raw text of an exception is shown. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function outage(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/');
  await seePage(page, 'Overview');
  await page.goto('/sinks');
  const table = page.getByRole('table', { name: 'Sinks' });
  await see(table.getByText('active', { exact: true }));
  const dot = table.locator('.status', { hasText: 'active' }).first().locator('.dot');
  const colour = () => dot.evaluate((element) => getComputedStyle(element).backgroundColor);
  const green = await colour();

  await page.context().setOffline(true);
  const banner = page.getByText(/^No answer from the server since/);
  await see(banner);
  assert.equal(await banner.count(), 1);
  assert.notEqual(await colour(), green, 'no state is green');
  assert.equal(await page.getByRole('main').locator('.notice.tone-bad').count(), 0, 'no second notice');

  // A page that was not loaded before.
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Templates' }).click();
  await see(page.getByRole('heading', { name: 'This page could not be loaded' }));
  const text = await page.getByRole('main').innerText();
  assert.match(text, /The files of this page did not arrive/);
  assert.match(text, /reload the page/);
  assert.doesNotMatch(text, /Failed to fetch|module|\.js/);

  await page.context().setOffline(false);
  await seePage(page, 'Templates');
  await seeNo(banner);
  scene.expectNoErrors(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
}
