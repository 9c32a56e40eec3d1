/** The frame of every page is shown at once. Also tests scrolling after "Back", keys, alerts and compact rows. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { hold, see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function shell(scene) {
  const page = await scene.open(scene.facts.ann);
  await slowApi(page);
  await unreachable(page, scene);
  await scrolling(page);
  await buttons(page);
  await palette(page, scene);
  await alerts(page, scene);
  await localSpace(page);
  await density(page, scene);
}

/** Compact rows have less height, also after a reload. @param {Page} page @param {import('../scene.js').Scene} scene */
async function density(page, scene) {
  await page.goto('/tokens');
  const row = page.getByRole('table', { name: 'Tokens' }).getByRole('row').nth(1);
  const height = async () => (await row.boundingBox())?.height ?? 0;
  await see(row);
  const comfortable = await height();
  await page.getByRole('button', { name: `Account of ${scene.facts.ann.username}` }).click();
  await page.getByText('Compact rows').click();
  await page.waitForFunction(() => document.documentElement.dataset.density === 'compact');
  assert.ok((await height()) < comfortable);
  await page.reload();
  await see(row);
  assert.ok((await height()) < comfortable);
  assert.deepEqual(await check(page), []);
}

/** While the API has not answered, the page shows its frame. @param {Page} page */
async function slowApi(page) {
  const release = await hold(page, '**/api/auth/state');
  await page.goto('/tokens');
  await see(page.locator('.first-shell .sidebar'));
  assert.ok((await page.locator('.first-shell').innerText()).includes('svc'));
  release();
  await seePage(page, 'Tokens');
  await page.unroute('**/api/auth/state');
}

/** A page that was opened during an outage loads after the outage. @param {Page} page @param {any} scene */
async function unreachable(page, scene) {
  for (const path of ['**/api/auth/state', '**/api/tokens*']) {
    await page.route(path, (route) => route.fulfill({ status: 503, json: { title: 'Starting' } }));
    await page.goto('/tokens');
    await see(page.getByText('Trying again by itself…').or(page.getByRole('alert')));
    await page.unroute(path);
    await see(page.getByRole('table', { name: 'Tokens' }));
  }
  scene.expectNoErrors(/the server responded with a status of 503/);
}

/** "Back" restores the scroll position. @param {Page} page */
async function scrolling(page) {
  await page.setViewportSize({ width: 1280, height: 300 });
  await page.goto('/audit');
  await see(page.getByRole('main').getByText('event_sink.created').first());
  await page.evaluate(() => window.scrollTo(0, 250));
  await page.waitForFunction(() => window.scrollY === 250);
  await page.evaluate(() =>
    document.querySelector('a[href="/tokens"]')?.dispatchEvent(
      new MouseEvent('click', {
        bubbles: true,
        cancelable: true,
      }),
    ),
  );
  await seePage(page, 'Tokens');
  assert.equal(await page.evaluate(() => window.scrollY), 0);
  await page.goBack();
  await page.waitForFunction(() => window.scrollY === 250);
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** A disabled button keeps its colours while it is hovered. @param {Page} page */
async function buttons(page) {
  await page.goto('/tokens?new=1');
  const button = page.getByRole('dialog').getByRole('button', { name: 'Create token' });
  // Wait until the dialog no longer moves.
  await button.hover({ trial: true });
  await button.evaluate((element) => element.setAttribute('disabled', ''));
  const colour = () =>
    button.evaluate(async (element) => {
      const finite = element.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime !== Infinity);
      await Promise.allSettled(finite.map((one) => one.finished));
      return getComputedStyle(element).backgroundColor;
    });
  const before = await colour();
  await button.hover({ force: true });
  await page.waitForFunction(() => document.querySelector('dialog button[type="submit"]')?.matches(':hover'));
  assert.equal(await colour(), before);
  await button.evaluate((element) => element.setAttribute('aria-busy', 'true'));
  assert.equal(await colour(), before);
  assert.deepEqual(await check(page), []);
}

/** @param {Page} page @param {import('../scene.js').Scene} scene */
async function palette(page, scene) {
  const { script, sink, event, space, ann } = scene.facts;
  await page.goto('/tokens');
  await see(page.getByRole('table', { name: 'Tokens' }));
  const dialog = page.getByRole('dialog', { name: 'Go to' });
  const field = dialog.getByRole('combobox');
  for (const [text, option, title] of [
    ['audi', /^Audit/, 'Audit'],
    [sink.name, new RegExp(`^${sink.name}.*Sink`), sink.name],
    [script.name, new RegExp(`^${script.name}.*Script`), script.name],
    ['orders.total', /^orders\.total.*Method/, 'orders.total'],
    [space.name, new RegExp(`^${space.name}.*Space`), space.name],
    [ann.username, new RegExp(`^${ann.username}.*User`), ann.username],
    ['account and', /^Account and sessions.*Action/, 'Account'],
    [event.id, /Event$/, event.type],
  ]) {
    await page.keyboard.press('Control+k');
    await field.fill(text);
    await see(dialog.getByRole('option', { name: option }));
    // An entry that the keys chose stays chosen when further entries arrive.
    do await page.keyboard.press('ArrowDown');
    while (!(await dialog.getByRole('option', { name: option }).getAttribute('aria-selected'))?.includes('true'));
    await page.keyboard.press('Enter');
    await seeNo(dialog);
    await seePage(page, title);
  }
  await page.keyboard.press('Control+k');
  await see(dialog.getByRole('option').first());
  assert.deepEqual(await check(page), []);
  await page.keyboard.press('Escape');
  await seeNo(dialog);

  // Other keys of the page: `g` then `m`, `/` and `?`. They do nothing while the user types in a field.
  // A busy machine may press the second key too late: then both are pressed again.
  for (let tries = 0; tries < 20 && !page.url().endsWith('/methods'); tries += 1) {
    await page.keyboard.press('g');
    await page.keyboard.press('m');
    await page.evaluate(() => 0);
  }
  await seePage(page, 'Methods');
  const search = page.getByLabel('Search methods');
  await see(search);
  await page.keyboard.press('/');
  await page.waitForFunction(() => document.activeElement?.matches('main input[type="search"]'));
  await page.keyboard.type('g?');
  assert.equal(await search.inputValue(), 'g?');
  await search.blur();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await see(keys.getByText('Search this page'));
  assert.deepEqual(await check(page), []);
  await page.keyboard.press('Escape');
  await seeNo(keys);
}

/** A failing sink is announced on every page. @param {Page} page @param {import('../scene.js').Scene} scene */
async function alerts(page, scene) {
  await page.goto('/tokens');
  await seePage(page, 'Tokens');
  await see(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Sinks.*1 failing/ }));
  await page.waitForFunction(() => document.title === '(1) Tokens · svc');
  assert.ok(scene.facts.sink.name);
}

/** If the server may not run agents, the form does not ask who starts the agent. @param {Page} page */
async function localSpace(page) {
  await page.goto('/spaces?new=1');
  const form = page.getByRole('dialog', { name: 'New space' });
  await see(form.getByLabel('Startup script'));
  assert.equal(await form.getByLabel('Who starts its agent').count(), 0);
}
