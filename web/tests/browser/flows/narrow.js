/** At 390 px every page fits: wider content scrolls inside its own box. */
import assert from 'node:assert/strict';

import { expectEveryRoute, nameOf, places, visit, windows } from '../pages.js';
import { see } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function narrow(scene) {
  const windowOf = await windows(scene, { viewport: { width: 390, height: 844 } });
  const all = places(scene);
  const wide = [];
  for (const place of all) {
    const page = windowOf(place);
    await visit(page, place);
    const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth));
    if (width > 390) wide.push(`${nameOf(place)}: ${width} px; ${await widest(page)}`);
  }
  assert.deepEqual(wide, []);

  // The navigation opens with one click and closes again.
  const known = windowOf(all[0]);
  await expectEveryRoute(known, all);
  await known.goto('/');
  await known.getByRole('button', { name: 'Open menu' }).click();
  await known.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Methods' }).click();
  await see(known.getByRole('heading', { level: 1, name: 'Methods' }));
  await see(known.getByRole('button', { name: 'Open menu' }));
}

/** The first element that is too wide, for the error message. @param {import('playwright-core').Page} page */
function widest(page) {
  return page.evaluate(() => {
    const out = [...document.querySelectorAll('main *')].find(
      (element) => element.getBoundingClientRect().right > innerWidth + 1,
    );
    return out ? out.outerHTML.slice(0, 160) : '';
  });
}
