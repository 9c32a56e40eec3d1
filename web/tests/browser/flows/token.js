/** A token: created in the page, shown once, used, listed with its last use, revoked. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function token(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/tokens');
  await seePage(page, 'Tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  const form = page.getByRole('dialog', { name: 'New token' });
  await form.getByLabel('Name').fill('till');
  assert.ok(await form.getByLabel('methods').isChecked());
  await form.getByLabel('Expires after').selectOption('30');
  await form.getByRole('button', { name: 'Create token' }).click();

  const shown = page.getByRole('dialog', { name: 'Token till' });
  const secret = (await shown.getByRole('region', { name: 'token', exact: true }).innerText()).trim();
  assert.match(secret, /^svc_pat_/);
  // The button shows "Copied" only for a moment, so the page itself looks for it.
  const copied = page.waitForFunction(() =>
    [...document.querySelectorAll('dialog button')].some((button) => button.textContent?.trim() === 'Copied'),
  );
  await Promise.all([copied, shown.getByRole('button', { name: 'Copy token' }).click()]);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  // Escape does not close the dialog: its secret is shown only once.
  await page.keyboard.press('Escape');
  await see(shown);
  await shown.getByRole('button', { name: 'Done' }).click();
  await seeNo(shown);
  assert.equal(await page.getByText(secret).count(), 0);

  const row = page.getByRole('table', { name: 'Tokens' }).getByRole('row').filter({ hasText: 'till' });
  await see(row.getByText('methods'));
  await see(row.getByText('never'));
  await scene.meanwhile('use the token', secret);
  await page.reload();
  await seePage(page, 'Tokens');
  await see(row);
  await seeNo(row.getByText('never'));
  assert.ok(!(await page.content()).includes(secret), 'the secret is gone from the page');

  await row.getByRole('button', { name: 'Revoke till' }).click();
  await page.getByRole('dialog', { name: 'Revoke this token?' }).getByRole('button', { name: 'Revoke token' }).click();
  await seeNo(row);
  await seeToast(page, 'Token till revoked');
  await scene.meanwhile('use the revoked token');
}
