/** A second factor: set up, used at the sign-in, reset by an administrator, required by a role. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { check } from '../accessibility.js';
import { see, seeNo, seePage, seeToast } from '../scene.js';
import { codeOf } from '../totp.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../scene.js').Scene} Scene */

const PHONE = { viewport: { width: 390, height: 800 }, colorScheme: /** @type {const} */ ('dark') };

/** @param {Scene} scene */
export default async function secondFactor(scene) {
  const { ann, ben } = scene.facts;
  const page = await scene.open(ben);
  await page.goto('/account');
  const card = page.getByRole('region', { name: 'Second factor' });
  await card.getByRole('button', { name: 'Set up an authenticator app' }).click();
  const dialog = page.getByRole('dialog', { name: 'Authenticator app' });
  const { secret, codes } = await setUp(page, dialog, ben.password);
  await see(card.getByText('10 codes left'));
  assert.deepEqual(await check(page), []);

  await signInWithCode(scene, ben, secret, codes);
  await resetByAdministrator(scene, ann);
  await requiredByRole(scene, ann, ben);
  scene.expectNoErrors(/the server responded with a status of 40[13]/);
}

/**
 * Goes through the setup; returns the secret and the recovery codes.
 * @param {Page} page
 * @param {import('playwright-core').Locator} within
 * @param {string} password
 */
async function setUp(page, within, password) {
  await within.getByLabel('Your password').fill(password);
  await within.getByRole('button', { name: 'Continue' }).click();
  const picture = within.getByRole('img', { name: /QR code/ });
  await see(picture);
  const width = await picture.evaluate(async (/** @type {any} */ image) => {
    await image.decode();
    return image.naturalWidth;
  });
  assert.ok(width > 0, 'the QR code is a picture');
  assert.deepEqual(await check(page), []);
  const secret = await within.getByRole('region', { name: 'key' }).innerText();
  const code = within.getByLabel('Code that the app shows');
  await code.fill(codeOf(secret.trim()));
  await within.getByRole('button', { name: 'Turn on' }).click();
  const shown = await within.getByRole('region', { name: 'recovery codes' }).innerText();
  const codes = shown.trim().split('\n');
  assert.equal(codes.length, 10);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    within.getByRole('link', { name: 'Download' }).click(),
  ]);
  assert.ok((await readFile(await download.path(), 'utf8')).includes(codes[9]));
  assert.deepEqual(await check(page), []);
  await within.getByRole('button', { name: 'I have kept them' }).click();
  return { secret: secret.trim(), codes };
}

/** @param {Scene} scene @param {any} ben @param {string} secret @param {string[]} codes */
async function signInWithCode(scene, ben, secret, codes) {
  const page = await scene.open(null, PHONE);
  const password = async () => {
    await page.goto('/login?next=/tokens');
    await page.getByLabel('User name').fill(ben.username);
    await page.getByLabel('Password').fill(ben.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await see(page.getByLabel('Code'));
  };
  await password();
  assert.deepEqual(await check(page), []);
  await page.getByLabel('Code').fill('000 000');
  await page.getByRole('button', { name: 'Continue' }).click();
  await see(page.getByRole('alert').getByText(/not right/));
  await page.getByRole('button', { name: 'Start again' }).click();
  await see(page.getByLabel('Password'));
  await password();
  // The setup used the code of the current 30 seconds, and a code works once: use the next code.
  await page.getByLabel('Code').fill(codeOf(secret, 1));
  await page.getByRole('button', { name: 'Continue' }).click();
  await seePage(page, 'Tokens');

  const other = await scene.open();
  await other.goto('/login');
  await other.getByLabel('User name').fill(ben.username);
  await other.getByLabel('Password').fill(ben.password);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.getByLabel('Code').fill(codes[0].toLowerCase());
  await other.getByRole('button', { name: 'Continue' }).click();
  await seePage(other, 'Overview');
  await other.goto('/account');
  await see(other.getByText('9 codes left'));
}

/** @param {Scene} scene @param {any} ann */
async function resetByAdministrator(scene, ann) {
  const page = await scene.open(ann);
  await page.goto(`/users/${scene.facts.ben_id}`);
  await page.getByRole('button', { name: 'Reset second factor' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Reset second factor' }).click();
  await seeNo(page.getByRole('button', { name: 'Reset second factor' }));
}

/** @param {Scene} scene @param {any} ann @param {any} ben */
async function requiredByRole(scene, ann, ben) {
  const page = await scene.open(ann);
  await page.goto('/roles');
  await page.getByRole('checkbox', { name: 'user: requires a second factor' }).check();
  await seeToast(page, 'user requires a second factor');
  await page.reload();
  assert.ok(await page.getByRole('checkbox', { name: 'user: requires a second factor' }).isChecked());

  // Ben sees only the setup, on every page, until it is done.
  const phone = await scene.open(ben, PHONE);
  await phone.goto('/tokens');
  await seePage(phone, 'Set up a second factor');
  assert.deepEqual(await check(phone), []);
  const wide = await phone.evaluate('document.documentElement.scrollWidth');
  assert.ok(Number(wide) <= 390, `the page is ${wide} px wide`);
  await setUp(phone, phone.getByRole('main'), ben.password);
  await seePage(phone, 'Tokens');
  await phone.goto('/account');
  await see(phone.getByText('A role of yours requires a second factor, so you cannot remove the last one.'));
}
