/** Screenshots of every page, in light and dark, at 1280 and 390 px. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { nameOf, places, visit, windows } from '../pages.js';

/** Minimum height of a screenshot. */
const HEIGHT = 800;

/** @param {import('../scene.js').Scene} scene */
export default async function screenshots(scene) {
  const { folder } = scene.facts;
  await mkdir(folder, { recursive: true });
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const width of [1280, 390]) {
      const windowOf = await windows(scene, {
        colorScheme,
        reducedMotion: 'reduce',
        viewport: { width, height: HEIGHT },
      });
      for (const place of places(scene)) {
        const page = windowOf(place);
        await visit(page, place);
        // Make the window as high as the page. Otherwise sticky elements would appear in the middle.
        const height = await page.evaluate(() => document.documentElement.scrollHeight);
        await page.setViewportSize({ width, height });
        await page.screenshot({ path: join(folder, `${nameOf(place)}-${colorScheme}-${width}.png`) });
        await page.setViewportSize({ width, height: HEIGHT });
      }
      await scene.leave();
    }
  }
}
