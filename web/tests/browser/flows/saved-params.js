/** Params saved by name, params in a link, the sticky bar of the call button, and hidden columns. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function savedParams(scene) {
  const page = await scene.open(scene.facts.ann);
  await saved(scene, page);
  await linked(page);
  await stickyBar(page);
  await columns(scene, page);
}

/** @param {import('../scene.js').Scene} scene @param {Page} page */
async function saved(scene, page) {
  await page.goto('/methods/note');
  await seePage(page, 'note');
  const text = page.getByLabel('Params as JSON');
  const menu = page.getByRole('button', { name: 'Saved params and link' });
  const pick = async (/** @type {string | RegExp} */ name) => {
    await menu.click();
    await page.getByRole('menuitem', { name }).click();
  };
  const save = async (/** @type {string} */ name, /** @type {string} */ button) => {
    await pick('Save these params');
    await page.getByRole('dialog').getByLabel('Name').fill(name);
    await page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click();
    await seeNo(page.getByRole('dialog'));
  };
  await text.fill('{"text": "good morning"}');
  await save('Morning', 'Save');
  await text.fill('{"text": "good night"}');
  await save('Night', 'Save');
  await text.fill('{"text": "sleep well"}');
  await save('Night', 'Replace');

  // Saved params survive a reload, and fill the form.
  await page.reload();
  await seePage(page, 'note');
  await menu.click();
  await see(page.getByRole('menuitem', { name: 'Night' }));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/saved.png` });
  await page.getByRole('menuitem', { name: 'Morning' }).click();
  assert.equal(await text.inputValue(), '{"text": "good morning"}');
  await pick('Night');
  assert.equal(await text.inputValue(), '{"text": "sleep well"}');

  // The params of `unlock` contain a secret. They cannot be saved or shared, so there is no menu.
  await page.goto('/methods/unlock');
  await seePage(page, 'unlock');
  await see(page.getByRole('button', { name: 'Call', exact: true }));
  await seeNo(menu);

  await page.goto('/methods/note');
  await pick('Remove saved params');
  await page.getByRole('button', { name: 'Remove Night' }).click();
  await seeNo(page.getByRole('button', { name: 'Remove Night' }));
  await page.getByRole('button', { name: 'Remove Morning' }).click();
  await seeNo(page.getByRole('dialog'));
  await menu.click();
  await seeNo(page.getByRole('menuitem', { name: 'Morning' }));
  await page.keyboard.press('Escape');

  // Params that are too long cannot be saved: the dialog says so and stays open.
  await text.fill(`{"text": "${'x'.repeat(20_000)}"}`);
  await pick('Save these params');
  await page.getByRole('dialog').getByLabel('Name').fill('Long');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await see(page.getByRole('alert').getByText('At most 20000 can be saved'));
  await page.getByRole('button', { name: 'Cancel' }).click();
}

/** @param {Page} page */
async function linked(page) {
  await page.goto(`/methods/note?params=${encodeURIComponent('{"text": "from a friend"}')}`);
  await seePage(page, 'note');
  const text = page.getByLabel('Params as JSON');
  await see(page.getByText('These params come from a link'));
  assert.equal(await text.inputValue(), '{"text": "from a friend"}');
  // The address has the params no more.
  await page.waitForURL((url) => url.search === '');
  // A link fills the form only: the user makes the call.
  await seeNo(page.getByRole('region', { name: 'result', exact: true }));
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('"from a friend"'));

  // The copied link opens the form with the params, here in another tab.
  await text.fill('{"text": "50 % & more?", "n": 12345678901234567890}');
  await page.getByRole('button', { name: 'Saved params and link' }).click();
  await page.getByRole('menuitem', { name: 'Copy link with these params' }).click();
  await seeToast(page, 'Link copied');
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const other = await page.context().newPage();
  await other.goto(link);
  await see(other.getByText('These params come from a link'));
  assert.equal(
    await other.getByLabel('Params as JSON').inputValue(),
    '{"text": "50 % & more?", "n": 12345678901234567890}',
  );
  await other.close();
}

/** On a phone the call button stays on the screen while the form is on the screen. @param {Page} page */
async function stickyBar(page) {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 500 });
  await page.goto('/methods/note');
  await seePage(page, 'note');
  await page.getByRole('group', { name: 'Params', exact: true }).scrollIntoViewIfNeeded();
  const call = page.getByRole('button', { name: 'Call', exact: true });
  await page.waitForFunction(() => {
    const bar = document.querySelector('.try-bar');
    return bar !== null && bar.getBoundingClientRect().bottom <= window.innerHeight;
  });
  await see(call);
  assert.deepEqual(await check(page), []);
  if (before) await page.setViewportSize(before);
}

/** @param {import('../scene.js').Scene} scene @param {Page} page */
async function columns(scene, page) {
  await page.goto('/methods');
  await seePage(page, 'Methods');
  const head = (/** @type {string} */ name) => page.getByRole('columnheader', { name });
  const menu = page.getByRole('button', { name: 'Columns' });
  await see(head('Owner'));
  await menu.click();
  await page.getByRole('menuitemcheckbox', { name: 'Owner' }).click();
  await seeNo(head('Owner'));
  await see(page.getByRole('menuitemcheckbox', { name: 'Owner', checked: false }));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/columns.png` });
  await page.reload();
  await seePage(page, 'Methods');
  await see(head('Scope'));
  await seeNo(head('Owner'));
  await menu.click();
  await page.getByRole('menuitemcheckbox', { name: 'Owner' }).click();
  await see(head('Owner'));
}
