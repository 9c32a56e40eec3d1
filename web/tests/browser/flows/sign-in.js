/** Signing in: rejections are shown, and after too many attempts the user has to wait. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

/** The number of failed attempts for one user after which the server requires a wait. */
const ATTEMPTS = 10;
/**
 * The number of failed attempts for any users, before and after Ben's. Together with his they exceed the number at one
 * address after which the wait is long.
 */
const OTHERS = { before: 35, after: 10 };

/** @param {import('../scene.js').Scene} scene */
export default async function signIn(scene) {
  const { ann, ben } = scene.facts;
  const page = await scene.open();
  const name = page.getByLabel('User name');
  const password = page.getByLabel('Password');
  const submit = page.getByRole('button', { name: 'Sign in' });
  const alert = page.getByRole('alert');

  // A page that needs a signed-in user redirects to the sign-in form. After the sign-in, the form redirects back.
  await page.goto('/tokens?q=x');
  await seePage(page, 'Sign in to svc');
  assert.equal(new URL(page.url()).pathname, '/login');
  await name.fill(ann.username);
  await password.fill('not the password');
  await submit.click();
  await see(alert.getByText(/password/i));
  assert.equal(await password.inputValue(), '');
  await password.fill(ann.password);
  await submit.click();
  await seePage(page, 'Tokens');
  assert.equal(page.url(), `${scene.url}/tokens?q=x`);

  // A signed-in user is redirected, but never in a loop or to another site.
  for (const next of ['/login', '/.//example.org']) {
    await page.goto(`/login?next=${encodeURIComponent(next)}`);
    await seePage(page, 'Overview');
    assert.equal(page.url(), `${scene.url}/`);
  }

  // Signing out also ends the session on the server.
  await page.getByRole('button', { name: `Account of ${ann.username}` }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await seePage(page, 'Sign in to svc');
  assert.equal((await page.request.get('/api/auth/me')).status(), 401);

  // Wrong passwords use up Ben's attempts. His wait would be a second, and a busy machine may need longer to fill in
  // the form. After many failures at one address, the wait is a minute.
  const fail = async (/** @type {string} */ username) => {
    const answer = await page.request.post('/api/auth/login', { data: { username, password: 'a guess' } });
    assert.equal(answer.status(), 401, username);
  };
  for (let n = 0; n < OTHERS.before; n += 1) await fail(`before-${n}`);
  for (let n = 0; n < ATTEMPTS; n += 1) await fail(ben.username);
  for (let n = 0; n < OTHERS.after; n += 1) await fail(`after-${n}`);
  await name.fill(ben.username);
  await password.fill(ben.password);
  await submit.click();
  await see(alert.getByText(/too many/i));
  await see(page.getByRole('button', { name: /^Wait \d/ }));
  assert.ok(await page.getByRole('button', { name: /^Wait \d/ }).isDisabled());
  await seeNo(page.getByRole('navigation', { name: 'Main' }));
  // Chromium logs every rejected request in its console.
  scene.expectNoErrors(/the server responded with a status of (401|429)/);
}
