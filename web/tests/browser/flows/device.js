/** A machine without a browser is signed in by the code that it shows. */
import assert from 'node:assert/strict';

import { expectUsable } from '../oauth.js';
import { see, seePage } from '../scene.js';

/** Codes that a user may try within a minute. */
const TRIES = 10;

/** @param {import('../scene.js').Scene} scene */
export default async function device(scene) {
  const page = await scene.open();
  const code = page.getByLabel('Code');
  const go = page.getByRole('button', { name: 'Continue' });

  // The link leads a guest to the sign-in form, and back to the code.
  const login = await start(scene);
  const link = new URL(login.verification_uri_complete);
  await page.goto(link.pathname + link.search);
  await seePage(page, 'Sign in to svc');
  await page.getByLabel('User name').fill(scene.facts.ann.username);
  await page.getByLabel('Password').fill(scene.facts.ann.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await seePage(page, 'Sign in a machine');
  assert.equal(page.url(), login.verification_uri_complete);
  assert.equal(await code.inputValue(), login.user_code);
  await expectUsable(page, 'the form of the code');

  // The link only fills in the code: the user must still continue and allow.
  await go.click();
  await seePage(page, 'Sign in this machine?');
  const main = page.getByRole('main');
  await see(main.getByText('Only continue if you started this login yourself'));
  await see(main.locator('strong').getByText('127.0.0.1'));
  await see(main.getByText(login.user_code));
  await expectUsable(page, 'the question of a machine');
  assert.equal((await poll(scene, login)).error, 'authorization_pending');
  await page.getByRole('button', { name: 'Allow' }).click();
  await seePage(page, 'Machine signed in');
  await see(page.getByText('You can close this page.'));
  const { access_token: token } = await poll(scene, login);
  const me = await fetch(`${scene.url}/api/auth/me`, { headers: { Authorization: `Bearer ${token}` } });
  assert.equal((await me.json()).username, scene.facts.ann.username);

  // A code may be typed in lower case and without its dash.
  const refused = await start(scene);
  await page.goto('/device');
  await code.fill(refused.user_code.toLowerCase().replace('-', ''));
  await page.keyboard.press('Enter');
  await seePage(page, 'Sign in this machine?');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await seePage(page, 'Login refused');
  assert.equal((await poll(scene, refused)).error, 'access_denied');
  scene.expectNoErrors();

  // A malformed code, an unknown code, and too many attempts.
  await page.goto('/device');
  await code.fill('AEIO-1234');
  await go.click();
  await see(page.getByRole('alert').getByText('A code has 8 letters'));
  await code.fill('ZZZZ-ZZZZ');
  await go.click();
  await see(page.getByRole('alert').getByText('ZZZZ-ZZZZ'));
  for (let tries = 0; tries < TRIES; tries += 1) await page.request.get('/api/oauth/devices/ZZZZ-ZZZZ');
  await go.click();
  await see(page.getByRole('button', { name: /^Wait \d/ }));
  await see(page.getByRole('alert').getByText(/too many/i));
  scene.expectNoErrors(/the server responded with a status of (404|429)/);
}

/** Starts the login of a machine. @param {import('../scene.js').Scene} scene */
async function start(scene) {
  const response = await fetch(`${scene.url}/device_authorization`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'svc-cli' }),
  });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body;
}

/** Asks for the token of a machine. @param {import('../scene.js').Scene} scene @param {any} login */
async function poll(scene, login) {
  const response = await fetch(`${scene.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'svc-cli',
      device_code: login.device_code,
    }),
  });
  return response.json();
}
