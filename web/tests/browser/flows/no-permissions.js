/**
 * Users without a permission see no navigation entry and no data of the pages that need it. A direct visit shows 403.
 */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

/** Pages for every signed-in user. */
const FOR_ALL = ['Overview', 'Methods', 'Calls', 'Events', 'Scripts', 'Tokens'];
/** Pages that need a permission, with a word of their data. */
const CLOSED = [
  ['/spaces', 'warehouse'],
  ['/templates', 'web-server'],
  ['/tools', 'orders_create'],
  ['/sinks', 'old-crm'],
  ['/sinks/new', 'Patterns'],
  ['/users', 'cleo'],
  ['/apps', 'Add app'],
  ['/groups', 'packers'],
  ['/roles', 'auditor'],
  ['/servers', 'this one'],
  ['/audit', 'event_sink.created'],
];

/** @param {import('../scene.js').Scene} scene */
export default async function noPermissions(scene) {
  const { nobody, ann, space, sink, script, event } = scene.facts;
  const page = await scene.open(nobody);
  const nav = page.getByRole('navigation', { name: 'Main' });
  await page.goto('/');
  await seePage(page, 'Overview');
  assert.deepEqual(await nav.getByRole('link').allInnerTexts(), FOR_ALL);

  for (const [path, word] of [
    ...CLOSED,
    [`/spaces/${space.id}`, space.name],
    [`/sinks/${sink.id}`, sink.name],
    [`/users/${scene.facts.ann_id}`, ann.username],
  ]) {
    await page.goto(path);
    await seePage(page, 'You are not allowed to see this');
    await see(page.getByRole('main').getByText('403'));
    assert.equal(await page.getByRole('main').getByText(word, { exact: true }).count(), 0, path);
  }

  // The other pages show no data of other users and offer no forbidden action. Wait for the empty state first: a list
  // that still loads has no rows either.
  await page.goto('/methods');
  await seePage(page, 'Methods');
  await see(page.getByRole('main').getByText('No methods yet'));
  await seeNo(page.getByRole('main').getByText('orders.create'));
  await page.goto('/events');
  await seePage(page, 'Events');
  await see(page.getByRole('main').getByText('No events yet'));
  await seeNo(page.getByRole('button', { name: /emit/i }));
  await seeNo(page.getByRole('main').getByText(event.type));
  await page.goto('/scripts');
  await seePage(page, 'Scripts');
  // The global script is visible to all users.
  await see(page.getByRole('main').getByText('notice', { exact: true }));
  await seeNo(page.getByRole('main').getByText(script.name, { exact: true }));
  await page.goto('/tokens');
  await seePage(page, 'Tokens');

  // Objects of other users and wrong addresses are 404.
  scene.expectNoErrors();
  for (const path of [`/scripts/${script.id}`, `/events/${event.id}`, '/methods/user.ann.orders.create']) {
    await page.goto(path);
    await see(page.getByRole('main').getByText('404'));
  }
  await page.goto('/nowhere/at/all');
  await seePage(page, 'Page not found');
  await see(page.getByText('/nowhere/at/all'));
  await page.getByRole('link', { name: 'Go to the overview' }).click();
  await seePage(page, 'Overview');

  // An administrator sees the hidden data, so the test looked for the right words.
  const boss = await scene.open(ann);
  await boss.goto('/');
  const entries = boss.getByRole('navigation', { name: 'Main' });
  for (const entry of ['Spaces', 'MCP', 'Sinks', 'Users', 'Apps', 'Groups', 'Roles', 'Audit'])
    await see(entries.getByRole('link', { name: entry }));
  await boss.goto('/events');
  await see(boss.getByRole('button', { name: /emit/i }));
  for (const [path, word] of CLOSED) {
    await boss.goto(path);
    await see(boss.getByRole('main').getByText(word));
  }
  scene.expectNoErrors(/the server responded with a status of 404/);
}
