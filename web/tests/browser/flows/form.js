/** The form of a method: variants, maps, sets, pickers, formats, hidden texts, examples and the summary of problems. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function form(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/methods/pay');
  await seePage(page, 'pay');
  const params = page.getByRole('group', { name: 'Params' });
  const text = page.getByLabel('Params as JSON');
  const json = async () => JSON.parse(await text.inputValue());
  assert.deepEqual((await json()).payment, { kind: 'card', number: '' }, 'a required member is present');

  // Descriptions: strong text and safe links, and markup as text.
  await see(params.locator('strong', { hasText: 'receipt' }));
  assert.equal(await params.getByRole('link', { name: 'terms' }).getAttribute('href'), 'https://example.org/terms');
  assert.equal(await params.locator('a[href^="javascript"], img').count(), 0);
  await see(params.getByText('<img src=x onerror=window.hacked=1>'));
  await see(params.getByText('deprecated'));
  assert.equal(await params.getByLabel('pin').getAttribute('type'), 'password');

  // Problems are listed, and nothing is sent.
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  const problems = page.getByRole('list', { name: 'Problems' });
  await see(problems.getByText('Not an email address.'));
  await see(problems.getByText('Not a date'));
  await seeNo(page.getByRole('region', { name: 'result', exact: true }));
  await page.screenshot({ path: `${scene.results}/problems.png`, fullPage: true });

  await params.getByLabel('payment', { exact: true }).selectOption({ label: 'Invoice' });
  await params.getByLabel('days', { exact: true }).fill('14');
  await params.getByLabel('email').fill('ann@example.org');
  await params.getByLabel('day', { exact: true }).fill('2026-11-17');
  await params.getByLabel('at', { exact: true }).fill('2026-11-17T09:30:00');
  await params.getByLabel('pin').fill('1234');
  await params.getByLabel('New key of labels').fill('team');
  await params.getByRole('button', { name: 'Add key' }).click();
  await params.getByLabel('team', { exact: true }).fill('blue');
  await params.getByLabel('wed').check();
  await params.getByLabel('mon').check();
  const { at, ...rest } = await json();
  assert.deepEqual(rest, {
    payment: { kind: 'invoice', days: 14 },
    email: 'ann@example.org',
    day: '2026-11-17',
    pin: '1234',
    labels: { team: 'blue' },
    days: ['mon', 'wed'],
  });
  assert.equal(new Date(at).toISOString(), at);
  await seeNo(problems);
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/filled.png`, fullPage: true });
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('"invoice"'));

  // A change of the JSON selects the variant in the form.
  await text.fill('{"payment": {"kind": "card", "number": "7"}, "email": "x", "day": "2026-02-31"}');
  assert.equal(await params.getByLabel('number', { exact: true }).inputValue(), '7');
  await see(params.getByText('Not an email address.'));
  await see(params.getByText('Not a date such as'));
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByRole('button', { name: 'Send anyway' }).click();
  await see(page.getByRole('region', { name: 'Outcome' }).getByText(/"card"|email/));
  await page.getByRole('button', { name: 'Fill example' }).click();
  assert.deepEqual(await json(), {
    payment: { kind: 'invoice', days: 14 },
    email: 'ann@example.org',
    day: '2026-11-17',
  });
  await params.getByRole('button', { name: 'payment: Invoice' }).click();
  await seeNo(params.getByLabel('days', { exact: true }));
  await freeKeys(page);
  await outline(page);
  await variantsAndTimes(scene);
}

/**
 * Free keys beside declared properties: the schema of a key depends on its name, and keys are checked.
 * @param {Page} page
 */
async function freeKeys(page) {
  const params = page.getByRole('group', { name: 'Params', exact: true });
  const text = page.getByLabel('Params as JSON');
  await page.getByRole('button', { name: 'Fill example' }).click();
  const example = JSON.parse(await text.inputValue());
  await params.getByRole('button', { name: 'Add options' }).click();
  const options = params.getByRole('group', { name: 'options', exact: true });
  const key = options.getByLabel('New key of options');
  const add = options.getByRole('button', { name: 'Add key' });
  await options.getByLabel('mode', { exact: true }).selectOption({ label: 'fast' });
  await key.fill('Big');
  await see(options.getByText('Does not match the pattern.'));
  assert.ok(await add.isDisabled());
  await key.fill('mode');
  await see(options.getByText('This key has a field of its own.'));
  await key.fill('x-count');
  await add.click();
  await options.getByLabel('x-count', { exact: true }).fill('3');
  await key.fill('x-count');
  await see(options.getByText('This key exists already.'));
  await key.fill('note');
  await add.click();
  await options.getByLabel('note', { exact: true }).fill('hello');
  await see(options.getByText('At most 3 keys.'));
  await key.fill('more');
  assert.ok(await add.isDisabled());
  const written = { mode: 'fast', 'x-count': 3, note: 'hello' };
  assert.deepEqual(JSON.parse(await text.inputValue()).options, written);
  assert.deepEqual(await check(page), []);
  await options.getByRole('button', { name: 'Remove note of options' }).click();
  assert.deepEqual(JSON.parse(await text.inputValue()).options, { mode: 'fast', 'x-count': 3 });

  const problems = page.getByRole('list', { name: 'Problems' });
  await text.fill(JSON.stringify({ ...example, options: { mode: 'fast', 'x-count': 'x', Big: '' } }));
  await see(options.getByText('Key: Does not match the pattern.'));
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(problems.getByText('Not a whole number.'));
  await see(problems.getByText('options.Big'));
  await text.fill(JSON.stringify({ ...example, options: { ...written, more: '' } }));
  await see(problems.getByText('At most 3 keys.'));
}

/** The outline of the schema names variants as the form does, and lists free keys. @param {Page} page */
async function outline(page) {
  const names = page.getByRole('region', { name: 'Params schema' }).locator('.schema-name');
  const shown = await names.allInnerTexts();
  for (const name of ['Invoice', 'courier', 'with phone', 'low, high', 'integer', 'keys matching ^x-', 'other keys'])
    assert.ok(shown.includes(name), `${name} is in ${shown.join('; ')}`);
  assert.ok(!shown.some((name) => /^variant/.test(name)));
}

/**
 * A value selects the variant for which it is valid, and a picked variant stays. A time of day is entered in the local
 * time zone.
 * @param {import('../scene.js').Scene} scene
 */
async function variantsAndTimes(scene) {
  const page = await scene.open(scene.facts.ann, { timezoneId: 'Asia/Kolkata' });
  await page.goto('/methods/pay');
  const params = page.getByRole('group', { name: 'Params' });
  const text = page.getByLabel('Params as JSON');
  const chosen = (/** @type {string} */ name) =>
    params.getByLabel(name, { exact: true }).locator('option:checked').innerText();
  await page.getByRole('button', { name: 'Fill example' }).click();
  const example = JSON.parse(await text.inputValue());
  const ship = { by: 'courier', zone: '7' };
  await text.fill(JSON.stringify({ ...example, ship, contact: { phone: '1' }, alarm: '04:00:00Z' }));
  assert.equal(await chosen('ship'), 'courier');
  assert.equal(await chosen('contact'), 'with phone');
  assert.equal(await params.getByLabel('alarm', { exact: true }).inputValue(), '09:30:00');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('"courier"'));
  assert.equal(await page.getByRole('list', { name: 'Problems' }).count(), 0, 'a valid value has no problems');

  await params.getByLabel('alarm', { exact: true }).fill('10:45:30');
  assert.equal(JSON.parse(await text.inputValue()).alarm, '05:15:30Z');
  await params.getByLabel('contact', { exact: true }).selectOption({ label: 'with mail' });
  await params.getByLabel('phone', { exact: true }).fill('2');
  assert.equal(await chosen('contact'), 'with mail', 'the picked variant stays while the value matches it');
  assert.deepEqual(JSON.parse(await text.inputValue()).contact, { mail: '', phone: '2' });
  assert.deepEqual(await check(page), []);
}
