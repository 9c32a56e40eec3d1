/** A script: written, rejected with the line number, corrected, run, edited, run again. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

const WRONG = 'def main(params):\n    print("doubling")\n    return = params["n"]\n';
const RIGHT = 'def main(params):\n    print("doubling", params["n"])\n    return params["n"] * 2\n';
const SCHEMA = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "default": 21}}}';

/** @param {import('../scene.js').Scene} scene */
export default async function script(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/scripts');
  await page.getByRole('link', { name: 'New script' }).first().click();
  await seePage(page, 'New script');
  const source = page.getByLabel('Source');
  await page.getByLabel('Name').fill('double');
  await page.getByLabel('Params schema').fill(SCHEMA);
  await source.fill(WRONG);
  // The check while typing may show the same message before the server rejects the script.
  const rejected = page.waitForResponse((response) => response.status() === 422);
  await Promise.all([rejected, page.getByRole('button', { name: 'Create script' }).click()]);
  await see(page.getByText(/Line 3: /));
  assert.equal(await page.locator('.editor-error-line').innerText(), '3');
  scene.expectNoErrors(/the server responded with a status of 422/);

  await source.fill(RIGHT);
  await seeNo(page.locator('.editor-error-line'));
  assert.ok((await page.locator('.tok-keyword').allInnerTexts()).includes('def'), 'the source is highlighted');
  await runNew(page);
  await page.screenshot({ path: `${scene.results}/new-script.png`, fullPage: true });
  await page.getByRole('button', { name: 'Create script' }).click();
  await seePage(page, 'double');

  // The form starts with values from the schema.
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await see(page.getByText(/^Succeeded in/));
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('42'));
  await see(page.getByRole('region', { name: 'output', exact: true }).getByText('doubling 21'));

  // A run-time error also marks its line.
  await source.fill(RIGHT.replace('["n"] * 2', '["m"] * 2'));
  await page.getByRole('button', { name: 'Run draft' }).click();
  await see(page.getByText(/^Failed after/));
  await see(page.getByText(/Line 3, in the last run: /));
  assert.equal(await page.locator('.editor-error-line').innerText(), '3');

  // The run of the draft has changed nothing.
  const stored = await (await page.request.get(`/api/scripts/${page.url().split('/').at(-1)}`)).json();
  assert.equal(stored.source, RIGHT);

  await lint(page);
  await source.fill(`${RIGHT}# twice\n`);
  await see(page.getByText('Unsaved changes'));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await see(page.getByText('Saved', { exact: true }));
  await page.reload();
  assert.equal(await source.inputValue(), `${RIGHT}# twice\n`);
  for (const lines of [2_000, 5_000]) await longScript(page, lines);
  await pastEvent(page, scene);
  await newSink(page);
  await usedBy(page, scene);
}

/** A new script runs before it is stored, with params from its schema. @param {Page} page */
async function runNew(page) {
  const run = page.getByRole('button', { name: 'Run', exact: true });
  await run.click();
  await see(page.getByText(/^Succeeded in/));
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('42'));
  await see(page.getByRole('region', { name: 'output', exact: true }).getByText('doubling 21'));
  await page.getByLabel('Params', { exact: true }).fill('{"m": 1}');
  await run.click();
  await see(page.getByText(/^Failed after/));
  await see(page.getByText(/Line 2, in the last run: /));
  assert.deepEqual(await check(page), []);
  const { scripts } = await (await page.request.get('/api/scripts?name=double')).json();
  assert.deepEqual(scripts, []);
}

/** A new script of a sink runs with an event of the past. A library does not run. @param {Page} page */
async function newSink(page) {
  await page.goto('/scripts/new?kind=sink');
  await page.getByLabel('Event', { exact: true }).selectOption({ index: 1 });
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await see(page.getByRole('region', { name: 'output', exact: true }).getByText('A-17'));
  await page.getByRole('radio', { name: 'Library' }).check();
  await seeNo(page.getByRole('button', { name: 'Run', exact: true }));
}

/** A problem is marked while the user types, and the mark goes when it is corrected. @param {Page} page */
async function lint(page) {
  const source = page.getByLabel('Source');
  await source.fill(WRONG);
  await see(page.getByText(/Line 3: /));
  assert.equal(await page.locator('.editor-error-line').innerText(), '3');
  assert.deepEqual(await check(page), []);
  await source.fill(`${RIGHT}\n`);
  await seeNo(page.locator('.editor-error-line'));
}

/** A sink script runs with an event of the past. @param {Page} page @param {import('../scene.js').Scene} scene */
async function pastEvent(page, scene) {
  await page.goto(`/scripts/${scene.facts.sink}`);
  // The page names the sink that uses the script.
  await see(page.getByRole('main').getByRole('link', { name: 'keeper' }));
  await page.getByLabel('Event', { exact: true }).selectOption({ index: 1 });
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await see(page.getByRole('region', { name: 'output', exact: true }).getByText('order A-17'));
  assert.equal(await page.getByLabel('Event type').count(), 0);
  assert.deepEqual(await check(page), []);
}

/**
 * The page of a script names the templates and the scripts that use it.
 * @param {Page} page
 * @param {import('../scene.js').Scene} scene
 */
async function usedBy(page, scene) {
  const main = page.getByRole('main');
  await page.goto(`/scripts/${scene.facts.startup}`);
  await main.getByRole('link', { name: 'small (template)' }).click();
  await seePage(page, 'Templates');
  await page.goto(`/scripts/${scene.facts.library}`);
  await main.getByRole('link', { name: 'speak' }).click();
  await seePage(page, 'speak');
}

/**
 * Typing in a long script touches only the lines near the visible part.
 * @param {Page} page
 * @param {number} lines
 */
async function longScript(page, lines) {
  const source = page.getByLabel('Source');
  const text = Array.from({ length: lines }, (_, line) => `value_${line} = "text" + str(${line})`).join('\n');
  // Not `fill`: Chromium inserts a text of many lines slowly, line by line.
  await source.evaluate((field, value) => {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set?.call(field, value);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }, text);
  await see(page.locator('.editor-gutter').first().getByText('90', { exact: true }));
  const elements = () => page.locator('.editor').first().locator('span').count();
  assert.ok((await elements()) < 2_500, `${await elements()} elements`);
  const slowest = await page.evaluate(async () => {
    const field = /** @type {HTMLTextAreaElement} */ (document.querySelector('.editor textarea'));
    field.focus();
    field.setSelectionRange(50, 50);
    let longest = 0;
    for (let key = 0; key < 10; key += 1) {
      const start = performance.now();
      document.execCommand('insertText', false, 'x');
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      longest = Math.max(longest, performance.now() - start);
    }
    return longest;
  });
  console.error(`a key in ${lines} lines takes at most ${slowest.toFixed(0)} ms`);

  // Other lines appear when they are scrolled to.
  await page
    .locator('.editor')
    .first()
    .evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await see(page.locator('.editor-gutter').first().getByText(String(lines), { exact: true }));
  await see(page.locator('.editor pre').first().getByText('str', { exact: false }));
  assert.ok((await page.locator('.editor pre').first().innerText()).includes(`value_${lines - 1}`));
  await page.getByRole('button', { name: 'Discard changes' }).click();
}
