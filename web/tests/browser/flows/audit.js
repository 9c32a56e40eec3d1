/** The audit log shows the names of targets, with links to those that exist. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { see } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function audit(scene) {
  const { ann, gone } = scene.facts;
  const page = await scene.open(ann);
  await page.goto('/audit?target_type=event_sink');
  const rows = page.getByRole('table', { name: 'Audit entries' }).locator('tbody tr');
  const kept = rows.filter({ hasText: 'event_sink.created' }).filter({ hasText: 'kept' });
  await see(kept.getByRole('link', { name: 'kept' }));
  const removed = rows.filter({ hasText: 'event_sink.deleted' });
  await see(removed.getByText('gone', { exact: true }));
  assert.equal(await removed.getByRole('link').count(), 0, 'the page of a deleted sink does not exist');
  assert.equal(await rows.getByText(gone.slice(0, 8)).count(), 0, 'no id instead of a name');
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/audit.png` });
  await kept.getByRole('link', { name: 'kept' }).click();
  await see(page.getByRole('heading', { level: 1, name: 'kept' }));
}
