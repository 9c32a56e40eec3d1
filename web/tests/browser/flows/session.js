/** A session that ends: the page stays below a dialog, goes on after the sign-in, and drafts survive a reload. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

const SOURCE = 'def main(params):\n    return "kept"\n';

/** @param {import('../scene.js').Scene} scene */
export default async function session(scene) {
  const { ann, ben } = scene.facts;
  const page = await scene.open(ann);
  await page.goto('/scripts/new');
  await seePage(page, 'New script');
  await page.getByLabel('Name').fill('keeper');
  await page.getByLabel('Source').fill(SOURCE);

  // The session ends. The request of the button waits for the sign-in, and then succeeds.
  await endSession(page);
  // The page sends requests by itself, so the dialog may already cover the button: a click of the pointer would wait.
  await page.getByRole('button', { name: 'Create script' }).dispatchEvent('click');
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await see(dialog.getByLabel('Password'));
  assert.equal(await dialog.getByLabel('User name').inputValue(), ann.username);
  assert.deepEqual(await check(page), []);
  await page.keyboard.press('Escape');
  await see(dialog);
  await dialog.getByLabel('Password').fill('not the password');
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await see(dialog.getByRole('alert'));
  await dialog.getByLabel('Password').fill(ann.password);
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await seeNo(dialog);
  await seePage(page, 'keeper');
  scene.expectNoErrors(/the server responded with a status of 401/);

  // A draft survives a reload and Back. Saving removes it.
  await page.getByLabel('Source').fill(`${SOURCE}# draft\n`);
  await see(page.getByText('Unsaved changes'));
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tokens' }).click();
  await seePage(page, 'Tokens');
  await page.goBack();
  await seePage(page, 'keeper');
  assert.equal(await page.getByLabel('Source').inputValue(), `${SOURCE}# draft\n`);
  page.once('dialog', (asked) => asked.accept());
  await page.reload();
  await seePage(page, 'keeper');
  assert.equal(await page.getByLabel('Source').inputValue(), `${SOURCE}# draft\n`);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await seeToast(page, 'Script saved');
  await page.reload();
  await see(page.getByText('Saved', { exact: true }));
  assert.deepEqual(await drafts(page), [], 'a saved script has no draft');

  // Another user may not continue on this page.
  await endSession(page);
  await page.getByLabel('Source').fill(`${SOURCE}# of Ann\n`);
  await page.keyboard.press('Control+s');
  await see(dialog);
  await dialog.getByRole('button', { name: /another user/ }).click();
  await seePage(page, 'Sign in to svc');
  await page.getByLabel('User name').fill(ben.username);
  await page.getByLabel('Password').fill(ben.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await seePage(page, 'There is nothing here');
  assert.ok(!(await page.content()).includes('of Ann'));
  // Ben's page requests the script repeatedly, and each answer is 404.
  await scene.leave();
  scene.expectNoErrors(/the server responded with a status of (401|404)/);
  await otherTabs(scene);
}

/**
 * A sign-out leaves no page readable in the other tabs, and a sign-in closes their dialogs.
 * @param {import('../scene.js').Scene} scene
 */
async function otherTabs(scene) {
  const { ann } = scene.facts;
  const page = await scene.open(ann);
  const other = await page.context().newPage();
  await page.goto('/scripts');
  await other.goto('/scripts');
  await seePage(other, 'Scripts');
  await endSession(page);
  for (const tab of [page, other]) {
    // A tab reloads its list by itself, so the dialog may already cover the link: a click of the pointer would wait.
    await tab.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tokens' }).dispatchEvent('click');
    await see(tab.getByRole('dialog', { name: 'Your session has ended' }));
  }
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel('Password').fill(ann.password);
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  for (const tab of [page, other]) {
    await seeNo(tab.getByRole('dialog', { name: 'Your session has ended' }));
    await see(tab.getByRole('table', { name: 'Tokens' }));
  }
  await page.getByRole('button', { name: `Account of ${ann.username}` }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  for (const tab of [page, other]) await seePage(tab, 'Sign in to svc');
  scene.expectNoErrors(/the server responded with a status of 401/);
}

/** Ends the session on the server, as another device would. @param {Page} page */
async function endSession(page) {
  assert.equal((await page.request.post('/api/auth/logout')).status(), 204);
}

/** @param {Page} page */
function drafts(page) {
  return page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('svc.draft.')));
}
