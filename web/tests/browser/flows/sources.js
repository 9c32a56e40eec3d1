/** Sources and schedules: created, tested, used and deleted in their pages. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';

import { expectUsable } from '../oauth.js';
import { see, seeNo, seePage, seeToast } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {import('../scene.js').Scene} scene */
export default async function sources(scene) {
  const page = await scene.open(scene.facts.ann);
  await source(page);
  await schedule(page);
  await sorted(page);
  scene.expectNoErrors(/the server responded with a status of 40[0-9]/);
  const nobody = await scene.open(scene.facts.nobody);
  await nobody.goto('/sources');
  await seePage(nobody, 'You are not allowed to see this');
  await seeNo(nobody.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Schedules' }));
}

/** @param {Page} page */
async function source(page) {
  await page.goto('/sources');
  await see(page.getByText('No sources yet'));
  await page.getByRole('button', { name: 'New source' }).first().click();
  const form = page.getByRole('dialog', { name: 'New source' });
  await form.getByLabel('Name').fill('not a segment');
  await form.getByRole('button', { name: 'Create source' }).click();
  await see(form.getByRole('alert').getByText('not a segment'));
  await form.getByLabel('Name').fill('github');

  // A reload keeps what was typed, except the secret.
  await form.getByLabel('Secret').fill('not stored');
  await page.reload();
  await see(form);
  assert.equal(await form.getByLabel('Name').inputValue(), 'github');
  assert.equal(await form.getByLabel('Secret').inputValue(), '');
  await expectUsable(page, 'the form of a source');
  await form.getByRole('button', { name: 'Create source' }).click();

  const shown = page.getByRole('dialog', { name: 'Source github' });
  const url = (await shown.getByRole('region', { name: 'URL', exact: true }).innerText()).trim();
  const secret = (await shown.getByRole('region', { name: 'secret' }).innerText()).trim();
  await shown.getByRole('button', { name: 'Done' }).click();
  await seeNo(shown);
  assert.equal(await page.getByText(secret).count(), 0);
  assert.deepEqual(await drafts(page), [], 'a created source has no draft');

  await page
    .getByRole('table', { name: 'Sources' })
    .getByRole('button', { name: /github/ })
    .click();
  const drawer = page.getByRole('dialog', { name: 'github' });
  await see(drawer.getByText('No requests since the server started.'));
  await drawer.getByRole('button', { name: 'Test' }).click();
  await see(drawer.getByText('source.github.event'));

  assert.equal(await deliver(url, `sha256=${'0'.repeat(64)}`), 401);
  const signature = createHmac('sha256', secret).update(BODY).digest('hex');
  assert.equal(await deliver(url, `sha256=${signature}`), 202);
  const requests = drawer.getByRole('table', { name: 'Last requests' });
  await see(requests.getByText('source.github.push'));
  await see(requests.getByText('the signature does not match', { exact: false }));
  await expectUsable(page, 'the drawer of a source');
  await drawer.getByRole('button', { name: 'Switch off' }).click();
  await see(drawer.getByRole('button', { name: 'Switch on' }));
  assert.equal(await deliver(url, `sha256=${signature}`), 404);
  await drawer.getByRole('button', { name: 'Delete' }).click();
  await page
    .getByRole('dialog', { name: 'Delete this source?' })
    .getByRole('button', { name: 'Delete source' })
    .click();
  await see(page.getByText('No sources yet'));
}

const BODY = '{"ref":"main"}';

/** Sends a request as GitHub does. @param {string} url @param {string} signature */
async function deliver(url, signature) {
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-hub-signature-256': signature,
  };
  return (await fetch(url, { method: 'POST', headers, body: BODY })).status;
}

/** @param {Page} page */
async function schedule(page) {
  await page.goto('/schedules');
  await see(page.getByText('No schedules yet'));
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  const form = page.getByRole('dialog', { name: 'New schedule' });
  await form.getByLabel('Name').fill('nightly');
  await form.getByLabel('Cron expression').fill('61 2 * * *');
  await see(form.getByText('61 2 * * *', { exact: false }).first());
  await form.getByLabel('Cron expression').fill('0 2 * * *');
  await form.getByLabel('Time zone').fill('Europe/Berlin');
  await see(form.getByRole('list', { name: 'Next runs' }).getByRole('listitem').nth(2));
  await form.getByLabel('Payload').fill('{"job": "backup"}');
  await page.reload();
  await see(form);
  assert.equal(await form.getByLabel('Name').inputValue(), 'nightly');
  assert.equal(await form.getByLabel('Payload').inputValue(), '{"job": "backup"}');
  await see(form.getByRole('list', { name: 'Next runs' }).getByRole('listitem').nth(2));
  await expectUsable(page, 'the form of a schedule');
  await form.getByRole('button', { name: 'Create schedule' }).click();
  await seeNo(form);
  assert.deepEqual(await drafts(page), [], 'a created schedule has no draft');

  await page
    .getByRole('table', { name: 'Schedules' })
    .getByRole('button', { name: /nightly/ })
    .click();
  const drawer = page.getByRole('dialog', { name: 'nightly' });
  await see(drawer.getByRole('list', { name: 'Next runs' }).getByRole('listitem').nth(4));
  await expectUsable(page, 'the drawer of a schedule');
  await drawer.getByRole('button', { name: 'Run now' }).click();
  await seeToast(page, 'Event schedule.nightly emitted');
  await drawer.getByRole('button', { name: 'Switch off' }).click();
  await see(drawer.getByText('None: the schedule is off.'));
  await drawer.getByRole('button', { name: 'Delete' }).click();
  const question = page.getByRole('dialog', { name: 'Delete this schedule?' });
  await question.getByRole('button', { name: 'Delete schedule' }).click();
  await see(page.getByText('No schedules yet'));
}

/** Sources and schedules are sorted by any column, and columns can be hidden. @param {Page} page */
async function sorted(page) {
  /** @type {[string, Record<string, any>[], string][]} */
  const lists = [
    [
      'sources',
      ['first', 'second'].map((name, at) => ({ name, verify: { type: 'none' }, active: at === 0 })),
      'Status',
    ],
    ['schedules', ['first', 'second'].map((name, at) => ({ name, cron: `${5 - at} 2 * * *` })), 'Runs at'],
  ];
  for (const [path, records, label] of lists) {
    const ids = [];
    for (const data of records) {
      const answer = await page.request.post(`/api/${path}`, { data });
      assert.equal(answer.status(), 201, await answer.text());
      ids.push((await answer.json()).id);
    }
    await page.goto(`/${path}`);
    const rows = page.getByRole('table').locator('tbody tr');
    const head = page.getByRole('columnheader', { name: label });
    await see(rows.first().getByText('first'));
    await head.getByRole('button', { name: label }).click();
    await see(rows.first().getByText(path === 'sources' ? 'first' : 'second'));
    await head.getByRole('button', { name: label }).click();
    await see(rows.first().getByText(path === 'sources' ? 'second' : 'first'));
    await expectUsable(page, `the sorted ${path}`);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitemcheckbox', { name: label }).click();
    await seeNo(head);
    for (const id of ids) assert.equal((await page.request.delete(`/api/${path}/${id}`)).status(), 204);
  }
}

/** The names of the stored drafts. @param {Page} page */
function drafts(page) {
  return page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('svc.draft.')));
}
