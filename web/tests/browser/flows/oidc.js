/** Sign-in with an OpenID Connect provider: an administrator adds it, users sign in and link accounts. */
import assert from 'node:assert/strict';

import { expectUsable } from '../oauth.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../scene.js').Scene} Scene */

/** @param {Scene} scene */
export default async function oidc(scene) {
  const ann = await scene.open(scene.facts.ann);
  await addProvider(scene, ann);
  const guest = await scene.open();
  await firstSignIn(scene, guest);
  await linkAccount(scene, ann);
  await deleteProvider(ann, guest);
  // The provider's own pages request a font and an icon that do not exist. A wrong password is a 403.
  scene.expectNoErrors(/\/interaction\/|with a status of 403/);
}

/** @param {Scene} scene @param {Page} page */
async function addProvider(scene, page) {
  await page.goto('/providers');
  await see(page.getByText('No providers yet'));
  await page.getByRole('button', { name: 'Add provider' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add provider' });
  await dialog.getByLabel('Name', { exact: true }).fill('corp');
  await dialog.getByLabel('Issuer').fill(scene.facts.issuer);
  await see(dialog.getByText('/api/auth/oidc/corp/callback'));
  await dialog.getByLabel('Button text').fill('Corp account');
  await dialog.getByLabel('Client id').fill('svc');
  await dialog.getByLabel('Client secret').fill(scene.facts.secret);
  await dialog.getByLabel('Create users at their first sign-in').check();
  await dialog.getByLabel('Required claims').fill(`iss=${scene.facts.issuer}`);
  await expectUsable(page, 'the form of a provider');
  await dialog.getByRole('button', { name: 'Add provider' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Corp account' });
  await see(row.getByText(scene.facts.issuer));
  await expectUsable(page, 'the list of providers');
  await row.getByRole('button', { name: 'Test Corp account' }).click();
  const check = page.getByRole('dialog', { name: 'Test of Corp account' });
  await see(check.getByText('Users can sign in with this provider.'));
  await see(check.getByText('the provider accepts the client id and the secret'));
  await check.getByRole('button', { name: 'Done' }).click();
}

/** Signs in on the pages of the provider. @param {Page} page @param {string} login */
async function atProvider(page, login) {
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('x');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** @param {Scene} scene @param {Page} page of a guest */
async function firstSignIn(scene, page) {
  await page.goto('/methods');
  await seePage(page, 'Sign in to svc');
  const link = page.getByRole('link', { name: 'Sign in with Corp account' });
  await see(link);
  await see(page.getByLabel('Password'));
  await expectUsable(page, 'the sign-in page with a provider');
  await link.click();
  await atProvider(page, 'zoe');
  await seePage(page, 'Methods');
  assert.equal(page.url(), `${scene.url}/methods`);
  await page.goto('/account');
  const card = page.getByRole('region', { name: 'Linked accounts' });
  await see(card.getByRole('row').filter({ hasText: 'Corp account' }));
  // The sign-in was a moment ago, so a user without a password is not asked for one.
  await card.getByRole('button', { name: 'Link an account' }).click();
  const dialog = page.getByRole('dialog', { name: 'Link an account' });
  await see(dialog.getByText('within 10 minutes'));
  await seeNo(dialog.getByLabel('Your password on this server'));
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expectUsable(page, 'the account with a linked account');
}

/** @param {Scene} scene @param {Page} page of a user with a password */
async function linkAccount(scene, page) {
  await page.goto('/account');
  const card = page.getByRole('region', { name: 'Linked accounts' });
  await card.getByRole('button', { name: 'Link an account' }).click();
  const dialog = page.getByRole('dialog', { name: 'Link an account' });
  const password = dialog.getByLabel('Your password on this server');
  await password.fill('not the password');
  await dialog.getByRole('button', { name: 'Continue at the provider' }).click();
  await see(dialog.getByRole('alert').getByText('not right'));
  await password.fill(scene.facts.ann.password);
  await dialog.getByRole('button', { name: 'Continue at the provider' }).click();
  await atProvider(page, 'ann-at-corp');
  await seePage(page, 'Account');
  const row = card.getByRole('row').filter({ hasText: 'Corp account' });
  await see(row);
  await row.getByRole('button', { name: 'Unlink Corp account' }).click();
  const unlink = page.getByRole('dialog', { name: 'Unlink this account?' });
  await unlink.getByLabel('Your password').fill('not the password');
  await unlink.getByRole('button', { name: 'Unlink' }).click();
  await see(unlink.getByRole('alert').getByText('not right'));
  await unlink.getByLabel('Your password').fill(scene.facts.ann.password);
  await unlink.getByRole('button', { name: 'Unlink' }).click();
  await seeNo(row);
}

/** @param {Page} page of the administrator @param {Page} guest who signed in with the provider */
async function deleteProvider(page, guest) {
  await page.goto('/providers');
  await page.getByRole('button', { name: 'Delete Corp account' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete this provider?' });
  await see(dialog.getByText('This unlinks 1 user.'));
  await dialog.getByRole('button', { name: 'Delete provider' }).click();
  await see(page.getByText('No providers yet'));
  await guest.goto('/methods');
  await seePage(guest, 'Sign in to svc');
  await seeNo(guest.getByRole('link', { name: 'Sign in with Corp account' }));
}
