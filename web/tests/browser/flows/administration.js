/**
 * Templates of spaces, the dialog that deletes a group and lists the methods of the group, tables that users sort, and
 * the pages of users with their quotas.
 */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { expectUsable } from '../oauth.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function administration(scene) {
  const page = await scene.open(scene.facts.ann);
  await templates(scene, page);
  await group(scene, page);
  await sorting(page);
  await sortedLists(page, {
    '/users': ['Name', 'Status', 'Roles', 'Groups', 'Last seen', 'Created'],
    '/groups': ['Name', 'Created'],
    '/spaces': ['Space', 'State', 'Health', 'Link', 'Registration', 'Owner', 'Created'],
    '/templates': ['Name', 'Ports', 'Startup script', 'Health check', 'Custom fields', 'Created'],
    '/tokens': ['Name', 'Reaches', 'Last used', 'Created', 'Expires'],
    '/servers': ['Server', 'State', 'Version', 'Agents', 'Lanes', 'Started', 'Last seen'],
  });
  await users(scene, page);

  // Users who may not change templates see them without buttons.
  const ben = await scene.open(scene.facts.ben);
  await sortedLists(ben, {
    '/scripts': ['Name', 'Kind', 'Owner', 'Lines', 'Changed'],
    '/sinks': ['Name', 'Patterns', 'State', 'Queue', 'Lost', 'Last result'],
  });
  await ben.goto('/templates');
  await see(ben.getByRole('cell', { name: 'web', exact: true }));
  assert.equal(
    await ben
      .getByRole('main')
      .getByRole('button', { name: /template|Delete/ })
      .count(),
    0,
  );
}

/** @param {import('../scene.js').Scene} scene @param {Page} page */
async function templates(scene, page) {
  await page.goto('/templates');
  await seePage(page, 'Templates');
  await see(page.getByText('No templates yet'));
  await page.getByRole('button', { name: 'New template' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Template name').fill('web');
  await dialog.getByRole('button', { name: 'Add port' }).click();
  await dialog.getByLabel('Port 1 name').fill('http');
  await dialog.getByLabel('Port 1 value').fill('8080');
  await dialog.getByLabel('Health check').selectOption('tcp');
  await dialog.getByLabel('Port', { exact: true }).fill('8080');
  await dialog.getByRole('button', { name: 'Add field' }).click();
  await dialog.getByLabel('Field 1 name').fill('team');
  await dialog.getByLabel('Field 1 value').fill('blue');
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/new-template.png` });
  // A reload keeps what was typed, and saving removes the draft.
  await page.reload();
  await see(dialog);
  assert.equal(await dialog.getByLabel('Template name').inputValue(), 'web');
  assert.equal(await dialog.getByLabel('Port 1 value').inputValue(), '8080');
  assert.equal(await dialog.getByLabel('Field 1 value').inputValue(), 'blue');
  await dialog.getByRole('button', { name: 'Create template' }).click();
  const row = page.getByRole('table', { name: 'Templates' }).locator('tbody tr');
  await see(row.getByText('http 8080'));
  await see(row.getByText('tcp:8080'));
  await see(row.getByText('team=blue'));
  await page.getByRole('button', { name: 'New template' }).click();
  assert.equal(await dialog.getByLabel('Template name').inputValue(), '');
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // A change keeps the other fields, and deletes the removed field.
  await row.getByRole('button', { name: 'web', exact: true }).click();
  await dialog.getByRole('button', { name: 'Remove field 1' }).click();
  await dialog.getByLabel('Port 1 value').fill('9090');
  await dialog.getByRole('button', { name: 'Save template' }).click();
  await see(row.getByText('http 9090'));
  await seeNo(row.getByText('team=blue'));
  await see(row.getByText('tcp:8080'));

  // A name that exists already: the dialog stays, with the server's error.
  await page.getByRole('button', { name: 'New template' }).click();
  await dialog.getByLabel('Template name').fill('web');
  await dialog.getByRole('button', { name: 'Create template' }).click();
  await see(dialog.getByRole('alert'));
  scene.expectNoErrors(/409/);
  await page.keyboard.press('Escape');
  await seeNo(dialog);
}

/** @param {import('../scene.js').Scene} scene @param {Page} page */
async function group(scene, page) {
  await page.goto('/groups');
  await page.getByRole('button', { name: 'Delete packers' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete packers?' });
  await see(dialog.getByText('It has 1 member.'));
  const methods = dialog.getByRole('list', { name: 'Methods of the group' }).getByRole('listitem');
  await see(methods.filter({ hasText: 'pack' }).getByText('then only its owner can call it'));
  await see(dialog.getByText('1 script sink of members keeps running'));
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/group.png` });
  await page.keyboard.press('Escape');
}

/**
 * The users of a role, when they were last seen, and the use of quotas.
 * @param {import('../scene.js').Scene} scene
 * @param {Page} page
 */
async function users(scene, page) {
  await page.goto('/roles');
  const matrix = page.getByRole('table', { name: 'Permissions of each role' });
  await matrix.locator('a[href="/users?role=admin"]').click();
  await seePage(page, 'Users');
  assert.equal(new URL(page.url()).searchParams.get('role'), 'admin');
  const rows = page.getByRole('table', { name: 'Users' }).locator('tbody tr');
  await see(rows.filter({ hasText: 'ann' }));
  await page.goto('/users');
  await see(
    rows
      .filter({ hasText: 'ben' })
      .getByText('just now')
      .or(rows.filter({ hasText: 'ben' }).getByText(/ago/)),
  );
  await see(rows.filter({ hasText: 'dora' }).getByText('never'));
  await expectUsable(page, 'the list of users');
  await rows.filter({ hasText: 'ben' }).getByRole('link').first().click();
  await seePage(page, 'ben');
  const quotas = page.getByRole('table', { name: 'Quotas and their use' }).locator('tbody tr');
  await see(quotas.filter({ hasText: 'API tokens' }).getByText('200'));
  await page.getByLabel('Scripts', { exact: true }).fill('4');
  await page.getByRole('button', { name: 'Save quotas' }).click();
  const scripts = quotas.filter({ hasText: 'Scripts' });
  await see(scripts.getByText('own value'));
  await see(scripts.getByRole('img', { name: 'Scripts: 1 of 4' }));
  await page.screenshot({ path: `${scene.results}/user.png`, fullPage: true });

  // Users see their own quotas.
  const ben = await scene.open(scene.facts.ben);
  await ben.goto('/account');
  const own = ben.getByRole('table', { name: 'Quotas and their use' }).locator('tbody tr');
  await see(own.filter({ hasText: 'Scripts' }).getByText('own value'));
  await expectUsable(ben, 'the account');
}

/**
 * Each of these columns sorts its list, and a list with five or more of them has a menu that hides columns.
 * @param {Page} page
 * @param {Record<string, string[]>} lists the labels of the columns by the path of the page
 */
async function sortedLists(page, lists) {
  for (const [path, labels] of Object.entries(lists)) {
    await page.goto(path);
    for (const name of labels) {
      const button = page.getByRole('button', { name, exact: true });
      const head = page.getByRole('columnheader').filter({ has: button });
      await head.getByRole('button', { name, exact: true }).click();
      await see(head.and(page.locator('[aria-sort="ascending"]')));
    }
    assert.equal(await page.getByRole('button', { name: 'Columns' }).count(), labels.length >= 5 ? 1 : 0, path);
  }
}

/** @param {Page} page */
async function sorting(page) {
  await page.goto('/methods');
  const first = page.getByRole('table', { name: 'Methods' }).locator('tbody tr').first();
  const head = page.getByRole('columnheader', { name: 'Method' });
  await see(first.getByText('pack'));
  await head.getByRole('button').click();
  await see(head.and(page.locator('[aria-sort="ascending"]')));
  await head.getByRole('button').click();
  await see(head.and(page.locator('[aria-sort="descending"]')));
  await see(first.getByText('weigh'));
  assert.equal(new URL(page.url()).searchParams.get('sort'), '-name');
  assert.deepEqual(await check(page), []);
  await page.reload();
  await see(first.getByText('weigh'));
  await head.getByRole('button').click();
  await see(first.getByText('pack'));
  assert.equal(new URL(page.url()).searchParams.get('sort'), null);
}
