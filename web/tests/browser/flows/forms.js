/**
 * An error of the server is shown at the field that it is about: the field is marked and described, has the focus, and
 * nothing covers it. An error about no field is shown at the buttons. Walks all forms that have an address.
 */
import assert from 'node:assert/strict';

import { places, visit } from '../pages.js';
import { see, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Locator} Locator */

/** Forms that the list of pages does not contain: an address, and the button that opens the form. */
const MORE = [
  { path: '/users', button: 'New user' },
  { path: '/groups', button: 'New group' },
  { path: '/roles', button: 'New role' },
  { path: '/events', button: 'Emit event' },
];

/** Forms that send no request with the values of their fields. */
const SENDS_NOTHING = ['Test run', 'Sign in to svc'];

/** @param {import('../scene.js').Scene} scene */
export default async function forms(scene) {
  const page = await scene.open(scene.facts.ann);
  await takenName(page, scene.facts.sink);
  await badUrl(page, scene.facts.sink);
  scene.expectNoErrors(/status of 4\d\d/);

  const context = page.context();
  await context.route('**/api/**', async (route) => {
    const request = route.request();
    const isRead = request.method() === 'GET' || /preview|check|dry_run/.test(request.url());
    if (isRead) return route.fallback();
    const { status, code, detail } = answer;
    return route.fulfill({ status, json: { status, code, detail, title: 'Refused' }, contentType: PROBLEM });
  });
  const seen = [];
  // These pages need an app that asks to connect, or have no form.
  const without = ['/connect', '/device', '/apps'];
  const all = places(scene).filter(({ who, route, name }) => who === undefined && (name || !without.includes(route)));
  for (const place of all) {
    const tab = await context.newPage();
    await visit(tab, place);
    seen.push(...(await walk(tab)));
    await tab.close();
  }
  for (const { path, button } of MORE) {
    const tab = await context.newPage();
    await tab.goto(path);
    await tab.getByRole('main').getByRole('button', { name: button }).first().click();
    seen.push(...(await walk(tab)));
    await tab.close();
  }
  assert.ok(new Set(seen).size >= 14, `forms: ${[...new Set(seen)].join(', ')}`);
  scene.expectNoErrors(/status of 4\d\d/);
}

const PROBLEM = 'application/problem+json';
/** What the server answers to each change. */
let answer = { status: 400, code: 'invalid', detail: '' };

/** A new sink with a name that exists. @param {Page} page @param {{name: string}} sink */
async function takenName(page, sink) {
  await page.goto('/sinks/new');
  await seePage(page, 'New sink');
  const name = page.getByLabel('Name', { exact: true });
  await name.fill(sink.name);
  await page.getByLabel('Patterns').fill('custom.x');
  await page.getByLabel('URL').fill('https://example.org/hook');
  await page.getByRole('button', { name: 'Create sink' }).click();
  await seeMark(name, /exists already/);
  // The mark is gone when the user changes the field.
  await name.press('End');
  await name.pressSequentially('2');
  await page.waitForFunction(() => !document.querySelector('[aria-invalid="true"]'));
}

/** The settings of a sink with a URL that the server refuses. @param {Page} page @param {{id: string}} sink */
async function badUrl(page, sink) {
  await page.goto(`/sinks/${sink.id}?tab=settings`);
  const url = page.getByLabel('URL');
  await url.fill('ftp://example.org/hook');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await seeMark(url, /URL/);
  // Away from the field, the line at the buttons leads back.
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await page.getByRole('button', { name: 'URL', exact: true }).click();
  await seeMark(url, /URL/);
}

/** Tries every form of a page. Returns the names of their buttons. @param {Page} page */
async function walk(page) {
  const found = [];
  const all = page.locator('form.form');
  for (let index = 0; index < (await all.count()); index += 1) {
    const form = all.nth(index);
    const submit = form.locator('button[type="submit"]');
    const name = (await submit.innerText()).trim();
    const field = form.locator('.field :is(input:not([type="password"]), textarea):visible').first();
    if (SENDS_NOTHING.includes(name) || (await field.count()) === 0) continue;
    await fill(form);
    if (await submit.isDisabled()) continue;
    const label = (await field.evaluate((element) => /** @type {any} */ (element).labels[0]?.textContent ?? '')).trim();
    const key = label.replace(/optional$/, '').trim();
    answer = { status: 400, code: 'invalid', detail: `\`${key}\` is refused by the test` };
    await submit.click();
    await seeMark(field, /is refused by the test/);
    answer = { status: 409, code: 'conflict', detail: 'zzz is refused as a whole' };
    await submit.click();
    const problem = form.locator('.form-problem');
    await see(problem.getByText('zzz is refused as a whole'));
    await seeUncovered(problem, true);
    found.push(name);
  }
  return found;
}

/** Fills the empty fields of a form with valid values. @param {Locator} form */
async function fill(form) {
  const fields = form.locator('.field :is(input, textarea):visible');
  for (let index = 0; index < (await fields.count()); index += 1) {
    const field = fields.nth(index);
    if (!(await field.isEditable())) continue;
    const { type, label, value, hint } = await field.evaluate((/** @type {any} */ element) => ({
      type: element.inputMode === 'numeric' ? 'number' : element.type,
      label: element.labels[0]?.textContent ?? '',
      value: element.value,
      hint: element.placeholder,
    }));
    // The form can be sent only after a change.
    if (value && !/^Description/.test(label)) continue;
    if (/optional/.test(label) && !/^Description/.test(label)) continue;
    await field.fill(valueFor(type, label, hint)).catch(() => {});
  }
}

/** @param {string} type @param {string} label @param {string} hint */
function valueFor(type, label, hint) {
  if (type === 'url' || /address/i.test(label)) return 'https://example.org/x';
  if (type === 'number') return '7';
  if (type === 'password') return 'correct horse battery';
  if (/cron/i.test(label)) return '0 8 * * 1';
  if (/pattern/i.test(label)) return 'custom.x';
  return /^[\w.-]+$/.test(hint) ? hint : 'probe';
}

/** The field is marked, described, focused and visible. @param {Locator} field @param {RegExp} message */
async function seeMark(field, message) {
  await field.and(field.page().locator('[aria-invalid="true"]')).waitFor();
  const described = await field.evaluate((element) =>
    (element.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent ?? '')
      .join(' '),
  );
  assert.match(described, message);
  await seeUncovered(field, true);
}

/** @param {Locator} locator @param {boolean} focused */
async function seeUncovered(locator, focused) {
  // The page moves the focus after it has shown the message.
  if (focused) {
    const element = await locator.elementHandle();
    await locator.page().waitForFunction((element) => document.activeElement === element, element);
  }
  const state = await locator.evaluate((element) => {
    const box = element.getBoundingClientRect();
    const at = document.elementFromPoint(
      box.left + Math.min(box.width / 2, 40),
      box.top + Math.min(box.height / 2, 12),
    );
    return { free: element.contains(at), active: document.activeElement === element, html: element.outerHTML };
  });
  assert.ok(state.free, `something covers ${state.html}`);
  assert.equal(state.active, focused, `the focus is elsewhere: ${state.html}`);
}
