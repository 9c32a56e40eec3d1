/** Spaces: the pages show, without a reload, that an agent disconnects, reconnects and stops. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function liveSpaces(scene) {
  const { ann, space } = scene.facts;
  const [list, one] = [await scene.open(ann), await scene.open(ann)];
  await list.goto('/spaces');
  await one.goto(`/spaces/${space.id}`);
  await seePage(one, space.name);
  const row = list.getByRole('table', { name: 'Spaces' }).getByRole('row').filter({ hasText: space.name });
  await see(row.getByText('deployed', { exact: true }));
  await see(row.getByText('linked', { exact: true }));
  await see(row.getByText('4 methods', { exact: true }));
  await see(one.getByText('ready', { exact: true }));
  for (const page of [list, one]) await page.evaluate(() => Object.assign(window, { sameDocument: true }));

  await scene.meanwhile('kill the agent');
  await see(row.getByText('not linked', { exact: true }));
  await see(row.getByText('4 methods waiting', { exact: true }));
  await see(one.getByText('The link is lost'));
  await scene.meanwhile('start it again');
  await see(row.getByText('linked', { exact: true }));
  await seeNo(one.getByText('The link is lost'));
  await see(one.getByRole('button', { name: 'Stop', exact: true }));
  await scene.meanwhile('stop the agent');
  await see(row.getByText('stopped', { exact: true }));
  await see(one.getByRole('button', { name: 'Start', exact: true }));
  for (const page of [list, one]) assert.ok(await page.evaluate(() => 'sameDocument' in window), 'no page reload');
}
