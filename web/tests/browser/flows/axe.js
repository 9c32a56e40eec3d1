/** axe-core reports nothing on any page, light or dark, and no page logs an error to the console. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { expectEveryRoute, nameOf, places, visit, windows } from '../pages.js';

/** @param {import('../scene.js').Scene} scene */
export default async function axe(scene) {
  await checkEveryPage(scene);
}

/**
 * @param {import('../scene.js').Scene} scene
 * @param {import('playwright-core').BrowserContextOptions} [options] of the windows
 */
export async function checkEveryPage(scene, options) {
  const all = places(scene);
  const findings = [];
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const windowOf = await windows(scene, { ...options, colorScheme, reducedMotion: 'reduce' });
    for (const place of all) {
      const page = windowOf(place);
      await visit(page, place);
      for (const finding of await check(page)) findings.push(`${nameOf(place)} in ${colorScheme}: ${finding}`);
    }
    await expectEveryRoute(windowOf(all[0]), all);
    await scene.leave();
  }
  assert.deepEqual(findings, []);
}
