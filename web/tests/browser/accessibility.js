/** What axe-core has against a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Serious and critical findings. By evaluation: a script element would be refused by the content
 * security policy.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>}
 */
export async function check(page) {
  await page.evaluate(source);
  const violations = await page.evaluate(async () => (await /** @type {any} */ (window).axe.run(document)).violations);
  return violations
    .filter((/** @type {any} */ found) => ['serious', 'critical'].includes(found.impact))
    .map(
      (/** @type {any} */ found) =>
        `${found.id}: ${found.help}\n  ${found.nodes
          .slice(0, 4)
          .map((/** @type {any} */ node) => `${node.html}\n    ${node.failureSummary}`)
          .join('\n  ')}`,
    );
}
