/** axe-core finds nothing serious on any page, in light and dark; and no console has an error. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { expectEveryRoute, nameOf, places, visit } from '../pages.js';

/** @param {import('../scene.js').Scene} scene */
export default async function axe(scene) {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const all = places(scene);
  const findings = [];
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const options = { colorScheme, reducedMotion: /** @type {const} */ ('reduce') };
    const [known, unknown] = [await scene.open(scene.facts.ann, options), await scene.open(null, options)];
    for (const place of all) {
      const page = place.open ? unknown : known;
      await visit(page, place);
      for (const finding of await check(page, source)) findings.push(`${nameOf(place)} in ${colorScheme}: ${finding}`);
    }
    await expectEveryRoute(known, all);
  }
  assert.deepEqual(findings, []);
}

/**
 * By evaluation: a script element would be refused by the content security policy.
 * @param {import('playwright-core').Page} page
 * @param {string} source
 * @returns {Promise<string[]>}
 */
async function check(page, source) {
  await page.evaluate(source);
  const violations = await page.evaluate(async () => (await /** @type {any} */ (window).axe.run(document)).violations);
  return violations
    .filter((/** @type {any} */ found) => ['serious', 'critical'].includes(found.impact))
    .map((/** @type {any} */ found) => `${found.id}: ${found.help}\n  ${found.nodes.slice(0, 4).map((/** @type {any} */ node) => `${node.html}\n    ${node.failureSummary}`).join('\n  ')}`);
}
