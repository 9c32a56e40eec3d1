/** An app asks to connect: the user signs in, allows or cancels, and the browser returns to the app. */
import assert from 'node:assert/strict';

import { authorizePath, Callback, CURSOR, exchange, expectUsable, mcpStatus, register } from '../oauth.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

const QUESTION = 'Connect “Probe” to svc?';

/** @param {import('../scene.js').Scene} scene */
export default async function consent(scene) {
  const callback = await Callback.start();
  try {
    const page = await scene.open();
    await allow(scene, page, callback);
    await cancel(page, callback);
    await lackOfPermission(scene, callback);
    await otherSession(scene, page, callback);
    scene.expectNoErrors(/the server responded with a status of 404/);
    await leaveToProgram(scene);
  } finally {
    callback.close();
  }
}

/** @param {import('../scene.js').Scene} scene @param {Page} page @param {Callback} callback */
async function allow(scene, page, callback) {
  const { ann } = scene.facts;
  const app = await register(page, 'Probe', callback.url);
  const answers = countAnswers(page);
  await clickAtOnce(page);

  // A guest signs in first, and then sees the question at the same address.
  await page.goto(authorizePath(app));
  await seePage(page, 'Sign in to svc');
  await see(page.getByText('you continue with “Connect an app”'));
  await page.getByLabel('User name').fill(ann.username);
  await page.getByLabel('Password').fill(ann.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await seePage(page, QUESTION);
  assert.match(page.url(), /\/connect\?request=[0-9a-f-]{36}$/);

  const main = page.getByRole('main');
  await see(main.getByText('not verified: this app gave itself this name'));
  await see(main.locator('strong').getByText('127.0.0.1'));
  await see(main.getByText('Continue only if you have just started the connection from a program here'));
  await see(main.getByText('List and call, as you, the tools (methods) that you can see'));
  await see(main.locator('strong').getByText(ann.username));
  await seeNo(page.getByRole('navigation', { name: 'Main' }));
  await expectUsable(page, 'the question');

  // The page ignores a click just after it appears, or just after the user returns to the window.
  const button = page.getByRole('button', { name: 'Allow' });
  await page.waitForFunction(() => 'clickedAtOnce' in window);
  await button.evaluate((/** @type {HTMLButtonElement} */ allow) => {
    window.dispatchEvent(new Event('focus'));
    allow.click();
  });
  await page.waitForFunction((allow) => allow?.ariaDisabled !== 'true', await button.elementHandle());
  assert.equal(answers.length, 0, 'early clicks do nothing');
  assert.equal(callback.answers.length, 0);

  await button.focus();
  await page.keyboard.press('Enter');
  await seePage(page, 'Back in the app');
  assert.equal(answers.length, 1);
  const [answer] = callback.answers.splice(0);
  const token = await exchange(scene.url, app, answer);
  assert.equal(await mcpStatus(scene.url, token), 200);

  // The answered question cannot be answered again.
  await page.goBack();
  await see(page.getByRole('heading', { level: 1, name: /^(Connected|This request is no longer valid)$/ }));
  await page.reload();
  await seePage(page, 'This request is no longer valid');
  await expectUsable(page, 'an answered question');
}

/** @param {Page} page @param {Callback} callback */
async function cancel(page, callback) {
  const app = await register(page, 'Probe', callback.url);
  await page.goto(authorizePath(app));
  await seePage(page, QUESTION);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await seePage(page, 'Back in the app');
  const [answer] = callback.answers.splice(0);
  assert.equal(answer.get('error'), 'access_denied');
  assert.equal(answer.get('state'), app.state);
  assert.equal(answer.get('code'), null);
}

/** @param {import('../scene.js').Scene} scene @param {Callback} callback */
async function lackOfPermission(scene, callback) {
  const page = await scene.open(scene.facts.nobody);
  await page.goto(authorizePath(await register(page, 'Probe', callback.url)));
  await seePage(page, QUESTION);
  await see(page.getByText('use_mcp'));
  await see(page.getByText('An administrator can assign a role'));
  assert.equal(await page.getByRole('button', { name: 'Allow' }).count(), 0);
  await expectUsable(page, 'a question that cannot be allowed');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await seePage(page, 'Back in the app');
  assert.equal(callback.answers.splice(0)[0].get('error'), 'access_denied');
}

/**
 * A question belongs to the session that opened it.
 * @param {import('../scene.js').Scene} scene
 * @param {Page} page
 * @param {Callback} callback
 */
async function otherSession(scene, page, callback) {
  await page.goto(authorizePath(await register(page, 'Probe', callback.url)));
  await seePage(page, QUESTION);
  const other = await scene.open(scene.facts.ben);
  await other.goto(page.url());
  await seePage(other, 'This request is no longer valid');

  await page.getByRole('button', { name: 'Not you? Sign out' }).click();
  await seePage(page, 'Sign in to svc');
  assert.equal((await page.request.get('/api/auth/me')).status(), 401);
  assert.equal(callback.answers.length, 0);
}

/** For an app with its own URL scheme, the page stays open. @param {import('../scene.js').Scene} scene */
async function leaveToProgram(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto(authorizePath(await register(page, 'Probe', CURSOR)));
  await seePage(page, QUESTION);
  await see(page.getByRole('main').locator('strong').getByText('cursor'));
  await page.getByRole('button', { name: 'Allow' }).click();
  await seePage(page, 'Connected');
  await see(page.getByText('You can close this page.'));
}

/** The answers that a page sends. @param {Page} page */
function countAnswers(page) {
  /** @type {string[]} */
  const sent = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes('/api/oauth/')) sent.push(request.url());
  });
  return sent;
}

/** Clicks "Allow" as soon as it appears. @param {Page} page */
async function clickAtOnce(page) {
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      const allow = [...document.querySelectorAll('button')].find((button) => button.innerText.trim() === 'Allow');
      if (!allow) return;
      observer.disconnect();
      allow.click();
      Object.assign(window, { clickedAtOnce: true });
    }).observe(document, { childList: true, subtree: true });
  });
}
