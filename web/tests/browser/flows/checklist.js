/**
 * The checklist ticks only the user's own actions, and keeps the ticks. It begins with a call if there are methods to
 * call.
 */
import assert from 'node:assert/strict';

import { see, seePage } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function checklist(scene) {
  // The administrator sees the calls, sinks and events of all users, and has done nothing.
  const root = await scene.open(scene.facts.root);
  await root.goto('/');
  const all = root.getByRole('list', { name: 'Getting started' }).getByRole('listitem');
  await see(all.filter({ hasText: 'Deliver events' }));
  for (const step of ['Call a method', 'Deliver events', 'Emit an event', 'Start a space'])
    await see(all.filter({ hasText: `${step}, to do` }));

  // With `scope=mine`, the overview counts only the sinks of the user.
  await root.goto('/?scope=mine');
  await see(root.getByRole('link', { name: /^Sinks active\s*0/ }));

  // Eve has no space, but sees a method of Ben.
  const page = await scene.open(scene.facts.eve);
  await page.goto('/');
  await seePage(page, 'Overview');
  const steps = page.getByRole('list', { name: 'Getting started' }).getByRole('listitem');
  await see(steps.filter({ hasText: 'Call a method, to do' }));
  assert.match(await steps.first().innerText(), /Call a method/);
  await scene.meanwhile('call a method');
  await see(steps.filter({ hasText: 'Call a method, done' }));

  // The tick remains after a reload, even if the server reports no call anymore.
  await page.route('**/api/stats', async (route) => {
    const response = await route.fetch();
    const stats = await response.json();
    for (const minute of stats.minutes) minute.calls = 0;
    await route.fulfill({ response, json: stats });
  });
  await page.reload();
  await see(steps.filter({ hasText: 'Call a method, done' }));
  await see(steps.filter({ hasText: 'Emit an event, to do' }));
}
