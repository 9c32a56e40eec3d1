/** Users, groups and roles: created in the pages, effective at once, explained, and audited. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

const DORA = { username: 'dora', password: 'a password of dora', token: '' };

/** @param {import('../scene.js').Scene} scene */
export default async function people(scene) {
  const page = await scene.open(scene.facts.ann);
  await newRole(page);
  await newGroup(page);
  await newUser(page);
  const address = page.url();

  // The role is in effect: the user sees exactly the permitted pages.
  const dora = await scene.open(DORA);
  await dora.goto('/');
  await seePage(dora, 'Overview');
  const entries = dora.getByRole('navigation', { name: 'Main' }).getByRole('link');
  assert.deepEqual(await entries.allInnerTexts(), [
    'Overview',
    'Methods',
    'Calls',
    'Events',
    'Scripts',
    'Tokens',
    'Servers',
    'Audit',
  ]);

  // A change in the table of permissions takes effect at once.
  await page.goto('/roles');
  await page.getByRole('checkbox', { name: 'reader: view_audit' }).uncheck();
  await page.getByRole('checkbox', { name: 'reader: use_mcp' }).check();
  await page.getByRole('button', { name: 'Save permissions' }).click();
  await seeToast(page, 'Permissions saved');
  await dora.goto('/audit');
  await seePage(dora, 'You are not allowed to see this');
  await see(dora.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'MCP' }));

  // Effective access lists every permission, with the role that grants it.
  await page.goto(address);
  const held = page.getByRole('table', { name: 'Effective permissions' }).getByRole('row');
  await see(held.filter({ hasText: 'use_mcp' }).getByText('reader'));
  await see(held.filter({ hasText: 'view_audit' }).getByText('no', { exact: true }));

  await credentials(page, dora);

  // Deactivation ends the session at once.
  await page.getByRole('button', { name: 'Deactivate', exact: true }).click();
  await page.getByRole('dialog', { name: 'Deactivate dora?' }).getByRole('button', { name: 'Deactivate' }).click();
  await see(page.getByText('inactive', { exact: true }));
  await dora.goto('/methods');
  await seePage(dora, 'Sign in to svc');
  scene.expectNoErrors(/the server responded with a status of 401/);
  await audit(page);
}

/** An administrator ends a session and revokes a token of another user. @param {Page} page @param {Page} dora */
async function credentials(page, dora) {
  await dora.goto('/tokens?new=1');
  await dora.getByRole('dialog').getByLabel('Name').fill('backup');
  await dora.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
  await see(dora.getByRole('dialog').getByText('svc_'));
  const tokens = page.getByRole('table', { name: 'Tokens' }).getByRole('row');
  await page.reload();
  await tokens.filter({ hasText: 'backup' }).getByRole('button', { name: 'Revoke backup' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click();
  await seeToast(page, 'Token backup revoked');
  await see(page.getByText('dora has no tokens.'));
  await page.getByRole('table', { name: 'Sessions' }).getByRole('button', { name: 'End', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
  await see(page.getByText('No browser is signed in.'));
  await dora.goto('/methods');
  await seePage(dora, 'Sign in to svc');
  await dora.getByLabel('User name').fill(DORA.username);
  await dora.getByLabel('Password').fill(DORA.password);
  await dora.getByRole('button', { name: 'Sign in' }).click();
  await seePage(dora, 'Methods');
}

/** @param {Page} page */
async function newRole(page) {
  await page.goto('/roles');
  await page.getByRole('button', { name: 'New role' }).click();
  const form = page.getByRole('dialog', { name: 'New role' });
  await form.getByLabel('Role name').fill('reader');
  await form.getByRole('checkbox', { name: /^view_audit/ }).check();
  await form.getByRole('button', { name: 'Create role' }).click();
  await seeNo(form);
  assert.ok(await page.getByRole('checkbox', { name: 'reader: view_audit' }).isChecked());
  assert.deepEqual(
    await page
      .getByRole('checkbox', { name: /^admin: / })
      .evaluateAll((boxes) => boxes.map((box) => box.getAttribute('aria-label'))),
    ['admin: requires a second factor'],
    'the permissions of built-in roles cannot be changed',
  );
}

/** @param {Page} page */
async function newGroup(page) {
  await page.goto('/groups');
  await page.getByRole('button', { name: 'New group' }).click();
  const form = page.getByRole('dialog', { name: 'New group' });
  await form.getByLabel('Group name').fill('readers');
  await form.getByRole('button', { name: 'Create group' }).click();
  await see(page.getByRole('table', { name: 'Groups' }).getByText('readers'));
}

/** @param {Page} page */
async function newUser(page) {
  await page.goto('/users');
  await page.getByRole('button', { name: 'New user' }).click();
  const form = page.getByRole('dialog', { name: 'New user' });
  await form.getByLabel('User name').fill(DORA.username);
  await form.getByLabel('Password', { exact: true }).fill(DORA.password);
  await form.getByRole('checkbox', { name: 'user', exact: true }).uncheck();
  await form.getByRole('checkbox', { name: 'reader', exact: true }).check();
  await form.getByRole('checkbox', { name: 'readers', exact: true }).check();
  await form.getByRole('button', { name: 'Create user' }).click();
  await seePage(page, DORA.username);
}

/** @param {Page} page */
async function audit(page) {
  await page.goto('/audit?action=user.created');
  const entries = page.getByRole('table', { name: 'Audit entries' }).getByRole('row');
  await see(entries.filter({ hasText: DORA.username }));
  await seeNo(entries.filter({ hasText: 'role.updated' }));
  await page.getByLabel('Action').fill('role.updated');
  await see(entries.filter({ hasText: 'role.updated' }));
  await seeNo(entries.filter({ hasText: 'user.created' }));
  assert.equal(new URL(page.url()).searchParams.get('action'), 'role.updated');
}
