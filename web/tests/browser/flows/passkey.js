/** Passkeys, with the virtual authenticator of the browser: added, used with and without a password, removed. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../scene.js').Scene} Scene */

const PHONE = { viewport: { width: 390, height: 800 }, colorScheme: /** @type {const} */ ('dark') };

/** @param {Scene} scene */
export default async function passkey(scene) {
  const { ben } = scene.facts;
  // Browsers offer passkeys for host names only, not for IP addresses.
  scene.url = scene.url.replace('127.0.0.1', 'localhost');
  const page = await scene.open(ben);
  await addAuthenticator(page);
  await page.goto('/account');
  const card = page.getByRole('region', { name: 'Second factor' });
  await card.getByRole('button', { name: 'Add a passkey' }).click();
  const dialog = page.getByRole('dialog', { name: 'Passkey' });
  await dialog.getByLabel('Name of the passkey').fill('Laptop');
  await dialog.getByLabel('Your password').fill(ben.password);
  assert.deepEqual(await check(page), []);
  await dialog.getByRole('button', { name: 'Add the passkey' }).click();
  await see(dialog.getByRole('region', { name: 'recovery codes' }));
  await dialog.getByRole('button', { name: 'I have kept them' }).click();
  await see(card.getByText('10 codes left'));
  assert.deepEqual(await check(page), []);
  await card.getByRole('button', { name: 'Rename Laptop' }).click();
  const rename = page.getByRole('dialog', { name: 'Rename the passkey' });
  await rename.getByLabel('Name of the passkey').fill('Work laptop');
  await rename.getByRole('button', { name: 'Rename' }).click();
  await see(card.getByText('Work laptop'));

  await signOut(page);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await seePage(page, 'Overview');
  await signOut(page);
  await password(page, ben);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await seePage(page, 'Overview');

  await remove(page, ben);
  await withoutPasskey(scene, ben);
  scene.expectNoErrors(/the server responded with a status of 40[139]/);
}

/** Gives a page a virtual authenticator that always verifies its user. @param {Page} page */
async function addAuthenticator(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('WebAuthn.enable');
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** @param {Page} page */
async function signOut(page) {
  await page.context().clearCookies();
  await page.goto('/login');
  await see(page.getByRole('button', { name: 'Sign in', exact: true }));
}

/** @param {Page} page @param {any} ben */
async function password(page, ben) {
  await page.getByLabel('User name').fill(ben.username);
  await page.getByLabel('Password').fill(ben.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await see(page.getByLabel('Code'));
  assert.deepEqual(await check(page), []);
}

/** @param {Page} page @param {any} ben */
async function remove(page, ben) {
  await page.goto('/account');
  const card = page.getByRole('region', { name: 'Second factor' });
  await card.getByRole('button', { name: 'Remove Work laptop' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove the passkey?' });
  await dialog.getByLabel('Your password').fill(ben.password);
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await seeNo(card.getByText('Work laptop'));
  await signOut(page);
  // The browser still has the passkey; the server does not.
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await see(page.getByRole('alert').getByText(/does not belong to a user/));
}

/**
 * At an IP address, the login page offers no passkey. In a narrow window, the account page does not scroll sideways.
 * @param {Scene} scene
 * @param {any} ben
 */
async function withoutPasskey(scene, ben) {
  const phone = await scene.open(null, { ...PHONE, baseURL: scene.url.replace('localhost', '127.0.0.1') });
  await phone.goto('/login');
  await see(phone.getByRole('button', { name: 'Sign in', exact: true }));
  await seeNo(phone.getByRole('button', { name: 'Sign in with a passkey' }));
  const named = await scene.open(ben, PHONE);
  await named.goto('/account');
  await see(named.getByRole('button', { name: 'Add a passkey' }));
  assert.deepEqual(await check(named), []);
  const wide = await named.evaluate('document.documentElement.scrollWidth');
  assert.ok(Number(wide) <= 390, `the page is ${wide} px wide`);
}
