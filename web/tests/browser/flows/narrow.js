/**
 * At 390 px every page fits: wider content scrolls inside its own box. Rows of tables become cards or a few lines, and
 * the controls in the heads of tables are visible.
 */
import assert from 'node:assert/strict';

import { expectEveryRoute, nameOf, places, visit, windows } from '../pages.js';
import { see } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** Tables whose rows have two or three lines on a phone. */
const WITH_LINES = [
  'Audit entries',
  'Calls',
  'Deliveries',
  'Events',
  'Groups',
  'Methods',
  'Scripts',
  'Sinks',
  'Spaces',
  'Templates',
  'Tokens',
  'Users',
];

/** @param {import('../scene.js').Scene} scene */
export default async function narrow(scene) {
  const windowOf = await windows(scene, { viewport: { width: 390, height: 844 } });
  const all = places(scene);
  const wide = [];
  const wrong = [];
  const withLines = new Set();
  for (const place of all) {
    const page = windowOf(place);
    await visit(page, place);
    const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth));
    if (width > 390) wide.push(`${nameOf(place)}: ${width} px; ${await widest(page)}`);
    const { tables, problems } = await page.evaluate(lookAtTables);
    for (const label of tables) withLines.add(label);
    for (const problem of problems) wrong.push(`${nameOf(place)}: ${problem}`);
  }
  assert.deepEqual(wide, []);
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    WITH_LINES.filter((label) => !withLines.has(label)),
    [],
    'tables whose rows are not lines',
  );

  // The navigation opens with one click and closes again.
  const known = windowOf(all[0]);
  await expectEveryRoute(known, all);
  await known.goto('/');
  await known.getByRole('button', { name: 'Open menu' }).click();
  await known.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Methods' }).click();
  await see(known.getByRole('heading', { level: 1, name: 'Methods' }));
  await see(known.getByRole('button', { name: 'Open menu' }));
  await controls(known, scene.facts.sink.id);
}

/** The head of a table sorts its rows and chooses all of them. @param {Page} page @param {string} sinkId */
async function controls(page, sinkId) {
  await page.goto('/users');
  const names = page.getByRole('table', { name: 'Users' }).locator('tbody td:first-child');
  await see(names);
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await see(page.locator('th[aria-sort="ascending"]'));
  const up = await names.allInnerTexts();
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await see(page.locator('th[aria-sort="descending"]'));
  assert.deepEqual(await names.allInnerTexts(), up.toReversed());
  await page.goto(`/sinks/${sinkId}`);
  await page.getByLabel('Choose all rows').check();
  await see(page.getByText('3 deliveries chosen'));
}

/**
 * Runs in the page. Returns the tables whose rows are lines, and the cells and controls with a wrong position.
 * @returns {{tables: string[], problems: string[]}}
 */
function lookAtTables() {
  const problems = [];
  const tables = [...document.querySelectorAll('.table-lines')].filter((table) => table.checkVisibility());
  for (const row of tables.flatMap((table) => [...table.querySelectorAll('tbody tr')])) {
    const box = (/** @type {string} */ selector) => {
      const cell = row.querySelector(selector);
      return cell?.checkVisibility() ? cell.getBoundingClientRect() : null;
    };
    const first = box('td:not(.cell-choice)');
    const [aside, line, end, more] = ['aside', 'line', 'line-aside', 'more'].map((name) => box(`.phone-${name}`));
    const fits =
      first &&
      (!aside || (Math.abs(aside.top - first.top) <= 1 && aside.left >= first.right)) &&
      (!line || (line.top >= first.bottom - 1 && Math.abs(line.left - first.left) <= 1)) &&
      (!end || (end.top >= first.bottom - 1 && (!line || (end.left >= line.right && end.top < line.bottom)))) &&
      (!more || more.top >= Math.max(line?.bottom ?? 0, end?.bottom ?? 0, first.bottom) - 1);
    if (!fits) problems.push(row.outerHTML.slice(0, 300));
  }
  for (const control of document.querySelectorAll('thead :is(a, button, input)')) {
    const around = ['th', 'tr', 'thead'].map((name) => /** @type {Element} */ (control.closest(name)));
    const isClipped = around.some((element) => getComputedStyle(element).clipPath !== 'none');
    if (control.checkVisibility() && isClipped) problems.push(`clipped: ${control.outerHTML.slice(0, 160)}`);
  }
  return { tables: tables.map((table) => table.getAttribute('aria-label') ?? ''), problems };
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
