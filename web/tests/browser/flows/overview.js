/** The charts of the overview: ranges, own calls and calls of all users, and the labels of the axes. */
import assert from 'node:assert/strict';

import { expectUsable } from '../oauth.js';
import { hold, see, seeNo } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** The ranges, the words at the left end of the charts, and the minimum number of labels between the ends. */
const RANGES = /** @type {[string, string, number][]} */ ([
  ['24 h', '24 h ago', 2],
  ['7 d', '7 days ago', 3],
  ['30 d', '30 days ago', 2],
  ['1 h', '60 min ago', 2],
]);

/** @param {import('../scene.js').Scene} scene */
export default async function overview(scene) {
  await ownCalls(scene);
  await changeOfRange(scene);
  await callsOfAll(scene);
}

/** @param {import('../scene.js').Scene} scene */
async function ownCalls(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/');
  await see(page.getByRole('link', { name: /^Calls, last hour\s*4/ }));
  await see(page.getByRole('img', { name: 'Calls since 60 min ago: 4 calls, 1 failed' }));
  await seeNo(page.getByRole('group', { name: 'Whose calls' }));
  for (const [range, start, ticks] of RANGES) {
    await page.getByText(range, { exact: true }).click();
    await see(page.getByRole('img', { name: `Calls since ${start}: 4 calls, 1 failed` }));
    await see(page.getByRole('img', { name: new RegExp(`latency since ${start}: (\\d|<)`) }));
    const labels = await page.locator('.chart-axis').first().locator('.chart-tick').allInnerTexts();
    assert.ok(labels.length >= ticks, `${range}: ${labels}`);
    assert.equal(new Set(labels).size, labels.length, `${range}: ${labels}`);
    const scale = await page.locator('.chart-scale').first().innerText();
    assert.match(scale, /^\d\s+\d\s+0$/, range);
  }
  assert.equal(new URL(page.url()).searchParams.get('range'), null, 'the first range is the default');
  // The value at the pointer replaces the sum.
  const chart = page.getByRole('img', { name: /^Calls since/ });
  await chart.hover({ position: { x: 5, y: 20 } });
  await see(page.getByText('no calls').first());
  await page.mouse.move(0, 0);
  await page.getByText('Show as table').first().click();
  const numbers = page.getByRole('region', { name: 'Calls, as a table' }).locator('tbody td:nth-child(2)');
  await see(numbers.first());
  const sum = (await numbers.allInnerTexts()).reduce((all, one) => all + Number(one), 0);
  assert.equal(sum, 4, 'the table has every call of the chart');
  await expectUsable(page, 'the overview');
}

/**
 * While another range loads, the old numbers stay, with the words of their own range.
 * @param {import('../scene.js').Scene} scene
 */
async function changeOfRange(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/?range=24h');
  const chart = (/** @type {string} */ start) => page.getByRole('img', { name: `Calls since ${start}: 4 calls` });
  await see(chart('24 h ago'));
  const week = '**/api/stats/calls?*range=7d*';
  const release = await hold(page, week);
  const asked = page.waitForRequest(week);
  await page.getByText('7 d', { exact: true }).click();
  await asked;
  await see(chart('24 h ago'));
  await seeNo(chart('7 days ago'));
  release();
  await see(chart('7 days ago'));
  // A chart of 24 h has fewer points than a chart of 7 days. The pointer stays at a point that the new chart lacks.
  const { width } = (await chart('7 days ago').boundingBox()) ?? { width: 0 };
  await chart('7 days ago').hover({ position: { x: width - 2, y: 20 } });
  await see(page.getByText(/^from /).first());
  await page.keyboard.press('ArrowLeft');
  await see(chart('24 h ago'));
  await see(page.getByRole('img', { name: /^95th percentile of the latency since 24 h ago/ }));
}

/** @param {import('../scene.js').Scene} scene */
async function callsOfAll(scene) {
  const page = await scene.open(scene.facts.root);
  await page.goto('/?range=24h');
  await see(page.getByRole('img', { name: 'Calls since 24 h ago: 5 calls, 2 failed' }));
  await pictures(scene, page);
  await page.getByText('Mine', { exact: true }).click();
  await see(page.getByRole('img', { name: 'Calls since 24 h ago: 0 calls, 0 failed' }));
  await seeNo(page.locator('.chart-scale > span').first());
  assert.equal(new URL(page.url()).searchParams.get('range'), '24h', 'the range stays');
}

/** The labels of the axes do not touch each other. @param {import('../scene.js').Scene} scene @param {Page} page */
async function pictures(scene, page) {
  for (const [name, colorScheme, width] of /** @type {const} */ ([
    ['light', 'light', 1280],
    ['dark', 'dark', 1280],
    ['phone', 'light', 360],
  ])) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 900 });
    for (const [range, start] of RANGES) {
      await page.getByText(range, { exact: true }).click();
      await see(page.getByRole('img', { name: `Calls since ${start}: 5 calls, 2 failed` }));
      await page.locator('.chart').first().scrollIntoViewIfNeeded();
      await page.screenshot({ path: `${scene.results}/${name}-${range.replace(' ', '')}.png` });
      for (const axis of await page.locator('.chart-axis').all()) await untilApart(axis, `${name}, ${range}`);
    }
  }
  await page.getByText('24 h', { exact: true }).click();
  await see(page.getByRole('img', { name: /^Calls since 24 h ago/ }));
  await page.setViewportSize({ width: 1280, height: 800 });
}

/**
 * Waits until no labels of an axis touch: after a change of the width, the page needs a moment.
 * @param {import('playwright-core').Locator} axis
 * @param {string} what
 */
async function untilApart(axis, what) {
  for (let tries = 0; tries < 50; tries++) {
    if (await isApart(axis)) return;
    await axis.page().waitForTimeout(100);
  }
  assert.fail(`${what}: two labels of an axis touch`);
}

/** @param {import('playwright-core').Locator} axis */
async function isApart(axis) {
  const labels = await axis.locator('span').all();
  const boxes = await Promise.all(labels.map((label) => label.boundingBox()));
  const sorted = boxes.filter((box) => box !== null).sort((a, b) => a.x - b.x);
  return sorted.every((box, index) => index === 0 || sorted[index - 1].x + sorted[index - 1].width < box.x);
}
