/** Connected apps: users disconnect their own apps; administrators disconnect, add, block and delete apps. */
import assert from 'node:assert/strict';

import { authorizePath, connect, expectUsable, mcpStatus, register } from '../oauth.js';
import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../scene.js').Scene} Scene */

/** @param {Scene} scene */
export default async function apps(scene) {
  const ben = await scene.open(scene.facts.ben);
  const ann = await scene.open(scene.facts.ann);
  await ownApps(scene, ben);
  await appsOfUser(scene, ann, ben);
  await blockedApp(scene, ann, ben);
  await addedApp(ann);
  scene.expectNoErrors(/the server responded with a status of 400/);
}

/** @param {Scene} scene @param {Page} page */
async function ownApps(scene, page) {
  await page.goto('/account');
  const card = page.getByRole('region', { name: 'Connected apps' });
  await see(card.getByText('No connected apps'));
  assert.equal(await card.getByRole('link', { name: 'How to connect an app' }).getAttribute('href'), '/tools');

  const token = await connect(scene.url, page, 'Probe');
  await connect(scene.url, page, 'Other');
  assert.equal(await mcpStatus(scene.url, token), 200);
  await page.reload();
  const row = rowOf(page, 'Connected apps', 'Probe');
  await see(row.getByText('not verified'));
  await see(row.getByText('127.0.0.1'));
  await expectUsable(page, 'the account with apps');
  await row.getByRole('button', { name: 'Disconnect Probe' }).click();
  await page.getByRole('dialog', { name: 'Disconnect this app?' }).getByRole('button', { name: 'Disconnect' }).click();
  await seeNo(row);
  await seeToast(page, 'Probe disconnected');
  await see(rowOf(page, 'Connected apps', 'Other'));
  assert.equal(await mcpStatus(scene.url, token), 401);
  // A user who may not manage users does not see the page of all apps or its navigation entry.
  await seeNo(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Apps' }));
  await page.goto('/apps');
  await seePage(page, 'You are not allowed to see this');
}

/** @param {Scene} scene @param {Page} page of an administrator @param {Page} ben */
async function appsOfUser(scene, page, ben) {
  const token = await connect(scene.url, ben, 'Shared');
  await page.goto(`/users/${scene.facts.ben_id}`);
  const row = rowOf(page, 'Connected apps', 'Shared');
  await see(row);
  await row.getByRole('button', { name: 'Disconnect Shared' }).click();
  await page.getByRole('dialog', { name: 'Disconnect this app?' }).getByRole('button', { name: 'Disconnect' }).click();
  await seeNo(row);
  assert.equal(await mcpStatus(scene.url, token), 401);
}

/** @param {Scene} scene @param {Page} page of an administrator @param {Page} ben */
async function blockedApp(scene, page, ben) {
  const token = await connect(scene.url, ben, 'Nuisance');
  await page.goto('/apps?q=nuisance');
  const row = rowOf(page, 'Apps', 'Nuisance');
  await see(row.getByText('allowed'));
  assert.equal(await page.getByRole('table', { name: 'Apps' }).getByText('Other').count(), 0);
  await row.getByRole('button', { name: /Nuisance/ }).click();
  const drawer = page.getByRole('dialog', { name: '“Nuisance”' });
  await see(drawer.getByText('http://127.0.0.1:9/callback'));
  await expectUsable(page, 'the drawer of an app');
  await drawer.getByRole('button', { name: 'Block' }).click();
  const question = page.getByRole('dialog', { name: 'Block this app?' });
  await see(question.getByText('This disconnects 1 user.'));
  await question.getByRole('button', { name: 'Block app' }).click();
  await see(drawer.getByRole('button', { name: 'Unblock' }));
  assert.equal(await mcpStatus(scene.url, token), 401);
  await drawer.getByRole('button', { name: 'Unblock' }).click();
  await see(drawer.getByRole('button', { name: 'Block', exact: true }));
  assert.equal(await mcpStatus(scene.url, token), 401, 'users have to connect again');
}

/** @param {Page} page of an administrator */
async function addedApp(page) {
  await page.goto('/apps');
  await page.getByRole('button', { name: 'Add app' }).click();
  const form = page.getByRole('dialog', { name: 'Add app' });
  await form.getByLabel('Name').fill('Dashboard');
  await form.getByLabel('Return addresses').fill('http://dash.example.com/callback');
  await form.getByLabel('The app keeps a secret').check();
  await expectUsable(page, 'the form of an app');
  await form.getByRole('button', { name: 'Add app' }).click();
  await see(form.getByRole('alert').getByText('http://dash.example.com/callback'));
  await form.getByLabel('Return addresses').fill('https://dash.example.com/callback');
  await form.getByRole('button', { name: 'Add app' }).click();

  const shown = page.getByRole('dialog', { name: 'App Dashboard' });
  const secret = (await shown.getByRole('region', { name: 'secret', exact: true }).innerText()).trim();
  assert.match(secret, /^svc_\w+$/);
  const id = (await shown.getByRole('region', { name: 'client id' }).innerText()).trim();
  await shown.getByRole('button', { name: 'Done' }).click();
  await seeNo(shown);
  assert.equal(await page.getByText(secret).count(), 0);
  const row = rowOf(page, 'Apps', 'Dashboard');
  await see(row.getByText('added by an administrator'));

  // The app can ask to connect with its client id.
  const app = { ...(await register(page, 'Unused')), clientId: id, redirect: 'https://dash.example.com/callback' };
  await page.goto(authorizePath(app));
  await seePage(page, 'Connect “Dashboard” to svc?');
  await see(page.getByRole('main').getByText('added by an administrator'));
  await see(page.getByRole('main').locator('strong').getByText('dash.example.com'));

  await page.goto('/apps?q=dashboard');
  await row.getByRole('button', { name: /Dashboard/ }).click();
  await page.getByRole('dialog', { name: '“Dashboard”' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete this app?' }).getByRole('button', { name: 'Delete app' }).click();
  await see(page.getByText('No app matches'));
  const gone = await page.goto(authorizePath(app));
  assert.equal(gone?.status(), 400, 'an unknown app gets an error page, not a redirect');
}

/** @param {Page} page @param {string} table @param {string} app */
function rowOf(page, table, app) {
  return page
    .getByRole('table', { name: table })
    .getByRole('row')
    .filter({ hasText: `“${app}”` });
}
