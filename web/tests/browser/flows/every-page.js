/**
 * Every page works with the files of the binary: opened by its address, and reached by links in one tab. No page logs
 * an error, breaks the content security policy, or requests a file that is missing or has no version.
 */
import assert from 'node:assert/strict';

import { expectEveryRoute, nameOf, places, visit, windows } from '../pages.js';
import { see, seeLoaded, seePage } from '../scene.js';

/** A file with its version. */
const VERSIONED = /^\/web\/[0-9a-f]{16}\//;

/** @param {import('../scene.js').Scene} scene */
export default async function everyPage(scene) {
  const all = places(scene);
  const windowOf = await windows(scene);
  /** @type {string[]} */
  const wrong = [];
  for (const page of new Set(all.map(windowOf))) {
    await page.exposeFunction('reportViolation', (/** @type {string} */ text) => wrong.push(text));
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
        /** @type {any} */ (window).reportViolation(`${location.pathname}: ${violatedDirective} ${blockedURI}`),
      );
    });
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/web/')) return;
      if (!VERSIONED.test(pathname) || response.status() >= 400) wrong.push(`${pathname}: ${response.status()}`);
    });
  }
  for (const place of all) {
    await visit(windowOf(place), place);
    assert.deepEqual(wrong, [], nameOf(place));
  }
  await expectEveryRoute(windowOf(all[0]), all);
  await followLinks(windowOf(all[0]));
  assert.deepEqual(wrong, []);
}

/** Opens each page of the navigation, and the command palette, without loading the tab again. */
async function followLinks(/** @type {import('playwright-core').Page} */ page) {
  await page.goto('/');
  await seePage(page, 'Overview');
  await page.evaluate(() => Object.assign(window, { isSameTab: true }));
  const links = page.getByRole('navigation').first().getByRole('link');
  const count = await links.count();
  assert.ok(count > 10, `${count} links in the navigation`);
  for (let index = 0; index < count; index += 1) {
    await links.nth(index).click();
    await see(page.getByRole('heading', { level: 1 }));
    await seeLoaded(page);
  }
  await page.keyboard.press('Control+k');
  await see(page.getByRole('combobox'));
  assert.ok(await page.evaluate(() => 'isSameTab' in window), 'a link loaded the tab again');
}
