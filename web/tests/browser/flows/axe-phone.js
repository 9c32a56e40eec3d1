/** axe-core reports nothing on any page on a phone, light or dark, also while the navigation is open. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see } from '../scene.js';
import { checkEveryPage } from './axe.js';

const PHONE = { viewport: { width: 390, height: 844 } };

/** @param {import('../scene.js').Scene} scene */
export default async function axePhone(scene) {
  await checkEveryPage(scene, PHONE);
  const page = await scene.open(scene.facts.ann, { ...PHONE, reducedMotion: 'reduce' });
  await page.goto('/methods');
  await page.getByRole('button', { name: 'Open menu' }).click();
  await see(page.getByRole('navigation', { name: 'Main' }));
  assert.deepEqual(await check(page), []);
}
