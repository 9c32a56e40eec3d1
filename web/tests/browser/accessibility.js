/** Checks the accessibility of a page with axe-core. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Returns all findings, also minor ones. The text of axe-core is evaluated, because the content security policy blocks
 * a script element.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>}
 */
export async function check(page) {
  await page.evaluate(source);
  // Text that fades in has too little contrast until its animation ends.
  await page.evaluate(async () => {
    const finite = document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(finite.map((one) => one.finished));
  });
  const violations = await page.evaluate(async () => (await /** @type {any} */ (window).axe.run(document)).violations);
  return violations.map(
    (/** @type {any} */ found) =>
      `${found.id} (${found.impact}): ${found.help}\n  ${found.nodes
        .slice(0, 4)
        .map((/** @type {any} */ node) => `${node.html}\n    ${node.failureSummary}`)
        .join('\n  ')}`,
  );
}
