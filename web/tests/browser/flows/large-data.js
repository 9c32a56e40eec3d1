/**
 * With 10,000 methods and many events, calls and deliveries, no page grows without a limit while it is read. The times
 * of requests and the longest task of each page are only reported: they depend on the machine, so the flow does not
 * check them.
 */
import assert from 'node:assert/strict';

import { see, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** The maximum number of elements of a page at any time. */
const ELEMENTS_MAX = 20_000;
/** The maximum size of one answer of the API, in bytes, without compression. */
const ANSWER_MAX = 1024 * 1024;
const METHODS_PER_PAGE = 100;
/** Rows of a live list: older rows are dropped. */
const TAIL_ROWS = 400;
/** How often the flow goes to the next page of a list. */
const TURNS = 5;

/** @param {import('../scene.js').Scene} scene */
export default async function largeData(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.addInitScript(() => {
    const tasks = /** @type {number[]} */ ([]);
    Object.assign(window, { longTasks: tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  await methods(page, scene.facts);
  await methodsOfSpace(page, scene.facts);
  for (const name of ['events', 'calls']) {
    await tail(page, name);
    await history(page, name);
  }
  await deliveries(page, scene.facts.sink);
}

/** @param {Page} page @param {{methods: number}} facts */
async function methods(page, facts) {
  await page.goto('/methods');
  await seePage(page, 'Methods');
  await see(page.getByText(`${facts.methods.toLocaleString('en')} methods`));
  const rows = page.getByRole('table', { name: 'Methods' }).locator('tbody tr');
  const first = await rows.first().innerText();
  for (let turn = 1; turn <= TURNS; turn += 1) {
    assert.equal(await rows.count(), METHODS_PER_PAGE);
    await scroll(page);
    await page.getByRole('button', { name: 'Next' }).click();
    await see(page.getByText(`Page ${turn + 1} of ${facts.methods / METHODS_PER_PAGE}`));
    await measure(page, `methods, page ${turn + 1}`);
  }
  assert.notEqual(await rows.first().innerText(), first);
  await page.getByRole('button', { name: 'Previous' }).click();
  await see(page.getByText(`Page ${TURNS} of`));
  // A search shows its first page, also if another page was shown before.
  await page.getByLabel('Search methods').fill('m999');
  await see(page.getByText('10 methods'));
  assert.equal(await rows.count(), 10);
  await measure(page, 'methods, searched');
}

/** @param {Page} page @param {{methods_per_space: number}} facts */
async function methodsOfSpace(page, facts) {
  await page.goto('/spaces');
  await page.getByRole('table').locator('tbody a').first().click();
  const rows = page.getByRole('table', { name: 'Methods' }).locator('tbody tr');
  await see(rows.first());
  await see(page.getByText(`Page 1 of ${facts.methods_per_space / 100}`));
  await scroll(page);
  await measure(page, 'methods of a space');
}

/** Loads more rows of a live list until the oldest are dropped. @param {Page} page @param {string} name */
async function tail(page, name) {
  await page.goto(`/${name}`);
  const rows = page.getByRole('main').locator('tbody tr');
  await see(rows.first());
  const more = page.getByRole('button', { name: 'Load more' });
  while (await more.isVisible()) {
    const before = await rows.count();
    await scroll(page);
    await more.click();
    await seeMoreRows(page, 'main', before);
    assert.ok((await rows.count()) <= TAIL_ROWS, `${name}: ${await rows.count()} rows`);
    await measure(page, `${name}, live, ${await rows.count()} rows`);
  }
  await see(page.getByText(`Only the newest ${TAIL_ROWS} are kept here.`));
}

/** @param {Page} page @param {string} name */
async function history(page, name) {
  await page.goto(`/${name}?range=24h`);
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await see(page.getByText(new RegExp(`Page ${turn}, \\d+ ${name}`)));
    await scroll(page);
    await measure(page, `${name}, history, page ${turn}`);
    await page.getByRole('button', { name: 'Older' }).click();
  }
}

/** @param {Page} page @param {{id: string}} sink */
async function deliveries(page, sink) {
  await page.goto(`/sinks/${sink.id}`);
  const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr');
  await see(rows.first());
  const more = page.getByRole('button', { name: 'Load more' });
  assert.ok(await more.isVisible(), 'the deliveries have more than one page');
  while (await more.isVisible()) {
    const before = await rows.count();
    await scroll(page);
    await more.click();
    await seeMoreRows(page, 'table[aria-label="Deliveries"]', before);
    await measure(page, `deliveries, ${await rows.count()} rows`);
  }
}

/**
 * Waits until a part of the page has more rows than before.
 * @param {Page} page
 * @param {string} part
 * @param {number} before
 */
async function seeMoreRows(page, part, before) {
  const selector = `${part} tbody tr`;
  await page.waitForFunction(
    ([rows, count]) => document.querySelectorAll(String(rows)).length > Number(count),
    [selector, before],
  );
}

/** Scrolls to the end of the page as a reader would. @param {Page} page */
async function scroll(page) {
  await page.evaluate(() => Object.assign(/** @type {any} */ (window).longTasks, { length: 0 }));
  await page.mouse.move(640, 400);
  for (let step = 0; step < 10; step += 1) await page.mouse.wheel(0, 800);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Checks the size of the document, and reports times. @param {Page} page @param {string} what */
async function measure(page, what) {
  const { elements, answers, longest } = await page.evaluate(() => {
    const all = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource'));
    performance.clearResourceTimings();
    const lists = all.filter(({ name }) => new URL(name).pathname.startsWith('/api/') && !name.includes('/stream'));
    return {
      elements: document.getElementsByTagName('*').length,
      answers: lists.map(({ name, duration, decodedBodySize }) => ({
        path: new URL(name).pathname + new URL(name).search,
        ms: Math.round(duration),
        bytes: decodedBodySize,
      })),
      longest: Math.round(Math.max(0, .../** @type {any} */ (window).longTasks)),
    };
  });
  const slowest = answers.reduce((most, { ms }) => Math.max(most, ms), 0);
  console.error(`${what}: ${elements} elements, slowest request ${slowest} ms, longest task ${longest} ms`);
  assert.ok(elements <= ELEMENTS_MAX, `${what}: the document has ${elements} elements`);
  for (const { path, bytes } of answers) assert.ok(bytes <= ANSWER_MAX, `${what}: ${path} has ${bytes} bytes`);
}
