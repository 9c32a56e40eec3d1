/** From the setup link to the first call, as a user who has just installed svc. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function firstCall(scene) {
  const page = await scene.open();
  await setUp(page, scene.facts.link);
  scene.expectNoErrors();
  await newSpace(page, scene);
  await call(page);

  // The overview counts the call and shows the event of the space.
  await page.goto('/');
  await see(page.getByText('1', { exact: true }));
  await see(page.getByRole('main').getByText('space.started'));

  // A used setup link is invalid.
  const other = await scene.open();
  await other.goto(scene.facts.link);
  await see(other.getByText('This server is set up already'));
  await other.getByRole('link', { name: 'Go to sign in' }).click();
  await other.getByLabel('User name').fill('ada');
  await other.getByLabel('Password').fill('analytical engine');
  await other.getByRole('button', { name: 'Sign in' }).click();
  await seePage(other, 'Overview');
}

/** @param {Page} page @param {string} link */
async function setUp(page, link) {
  await page.goto(link);
  await seePage(page, 'Set up svc');
  await see(page.getByLabel('User name'));
  assert.deepEqual(await check(page), []);
  await page.getByLabel('User name').fill('ada');
  await page.getByLabel('Password', { exact: true }).fill('analytical engine');
  await page.getByLabel('Password again').fill('difference engine');
  await page.getByRole('button', { name: 'Create administrator' }).click();
  await see(page.getByRole('alert').getByText('The two passwords differ.'));
  await page.getByLabel('Password again').fill('analytical engine');
  await page.getByRole('button', { name: 'Create administrator' }).click();
  await seePage(page, 'Overview');
  assert.equal(new URL(page.url()).pathname, '/');
  assert.equal(new URL(page.url()).search, '', 'the token does not stay in the address');
}

/** @param {Page} page @param {import('../scene.js').Scene} scene */
async function newSpace(page, scene) {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Spaces' }).click();
  await see(page.getByText('No spaces yet'));
  await page.getByRole('button', { name: 'New space' }).click();
  const form = page.getByRole('dialog', { name: 'New space' });
  await form.getByLabel('Name').fill('Lab');
  await form.getByRole('button', { name: 'Create space' }).click();
  await see(form.getByRole('alert').getByText(/lower-case/));
  scene.expectNoErrors(/the server responded with a status of 400/);
  await form.getByLabel('Name').fill('lab');
  await form.getByRole('button', { name: 'Create space' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start the agent of lab' });
  const command = await dialog.getByRole('region', { name: 'agent command', exact: true }).innerText();
  assert.ok(command.includes(`SVC_URL=${scene.url} `), command);
  const token = /SVC_AGENT_TOKEN=(svc_agt_\w+)/.exec(command)?.[1];
  assert.ok(token, command);
  await see(dialog.getByText(/^Waiting for the agent/));
  await scene.meanwhile('start the agent', token);
  await see(dialog.getByText('The agent is linked'));
  await dialog.getByRole('button', { name: 'Done' }).click();
  await seeNo(dialog);
  await see(page.getByRole('table', { name: 'Spaces' }).getByText('4 methods'));
}

/** @param {Page} page */
async function call(page) {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Methods' }).click();
  const table = page.getByRole('table', { name: 'Methods' });
  await see(table.getByText('orders.create'));
  await page.getByLabel('Search methods').fill('sum');
  await seeNo(table.getByText('orders.create'));
  await page.waitForURL(/[?&]q=sum(&|$)/);
  await table.getByRole('link', { name: /orders\.total/ }).click();
  await seePage(page, 'orders.total');

  // The form and the JSON show the same params.
  const params = page.getByRole('group', { name: 'Params' });
  const json = page.getByLabel('Params as JSON');
  await params.getByLabel('a', { exact: true }).fill('40');
  await params.getByLabel('b', { exact: true }).fill('2');
  assert.deepEqual(JSON.parse(await json.inputValue()), { a: 40, b: 2 });
  const outcome = page.getByRole('region', { name: 'Outcome' });
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(outcome.getByText('42', { exact: true }));
  await see(outcome.getByText(/ms|µs/));
  await json.fill('{"a": 1, "b": 2}');
  assert.equal(await params.getByLabel('a', { exact: true }).inputValue(), '1');
  await json.press('Control+Enter');
  await see(outcome.getByText('3', { exact: true }));

  // The page shows the call as snippets for other tools.
  for (const [tab, holds] of [
    ['curl', '/api/methods/call'],
    ['CLI', 'svc method call orders.total'],
    ['Python', 'orders.total'],
    ['TypeScript', 'fetch'],
  ]) {
    await page.getByRole('tab', { name: tab }).click();
    await see(page.getByRole('tabpanel').getByText(holds));
  }
}
