/** Past events are found by payload, id, actor, space and time, and every one of them can be reached. */
import assert from 'node:assert/strict';

import { check } from '../accessibility.js';
import { expectUsable } from '../oauth.js';
import { see, seeNo } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function eventExplorer(scene) {
  const { ann, first } = scene.facts;
  const page = await scene.open(ann);
  const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr');
  await page.goto('/events');
  await see(rows.first());

  await page.getByLabel('Payload contains, or event id').fill('THE FIRST');
  await see(rows.getByText('"the first"'));
  assert.equal(await rows.count(), 1);
  assert.equal(new URL(page.url()).searchParams.get('text'), 'THE FIRST');
  await page.screenshot({ path: `${scene.results}/payload.png` });
  await page.getByLabel('Emitted by').fill('ben');
  await see(page.getByText('No event matches'));
  await page.getByLabel('Emitted by').fill(ann.username);
  await see(rows.getByText('"the first"'));
  assert.equal(await rows.count(), 1);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await see(page.getByText('Live'));

  // An id opens its event.
  await page.getByLabel('Payload contains, or event id').fill(first);
  const drawer = page.getByRole('dialog', { name: 'custom.order.shipped' });
  await see(drawer.getByText('No sink or method of yours has a delivery of this event.'));
  await page.keyboard.press('Escape');
  await seeNo(drawer);

  // The only event of the space is its creation.
  await page.goto('/events');
  await page.getByLabel('Space').selectOption({ label: 'lab' });
  await seeNo(rows.filter({ hasText: 'custom.order.shipped' }));
  await see(rows.getByText('space.created'));
  assert.equal(await rows.count(), 1);

  // Paging reaches the oldest event, and the table stays small.
  await page.goto('/events?range=24h&pattern=custom.*');
  await see(page.getByText('Page 1, 50 events'));
  // A second click comes before the next page is requested.
  await page.getByRole('button', { name: 'Older' }).evaluate(async (/** @type {HTMLElement} */ button) => {
    button.click();
    await null;
    button.click();
  });
  await see(page.getByText('Page 2, 50 events'));
  await page.getByRole('button', { name: 'Newer' }).click();
  for (let n = 1; n < 9; n++) {
    await see(page.getByText(`Page ${n}, 50 events`));
    await page.getByRole('button', { name: 'Older' }).click();
  }
  await see(page.getByText('Page 9, 50 events'));
  await see(rows.getByText('"the first"'));
  assert.equal(await rows.count(), 50);
  assert.ok(await page.getByRole('button', { name: 'Older' }).isDisabled());
  assert.deepEqual(await check(page), []);
  await page.screenshot({ path: `${scene.results}/pages.png`, fullPage: true });
  await page.getByRole('button', { name: 'Newer' }).click();
  await see(page.getByText('Page 8, 50 events'));
  await histogram(page);
  await page.goto('/events?range=own&until=2020-01-01T00:00:00Z');
  await see(page.getByText('No event matches'));
  await olderEvents(scene);
}

/**
 * A search continues with older events: the payloads of Ben's events are too large for one request.
 * @param {import('../scene.js').Scene} scene
 */
async function olderEvents(scene) {
  const page = await scene.open(scene.facts.ben);
  await page.goto('/events?range=24h&text=needle');
  await see(page.getByText('Nothing found so far'));
  await page.getByRole('button', { name: 'Search older events' }).click();
  await see(page.getByRole('table', { name: 'Events' }).locator('tbody tr').getByText('"a needle"'));
  await see(page.getByText('Page 2, 1 event'));
}

/**
 * The histogram counts the events of all pages. A part of it can be chosen as the time range of the list.
 * @param {import('playwright-core').Page} page
 */
async function histogram(page) {
  const chart = page.getByRole('img', { name: /^Events from .*: 450 events$/ });
  await see(chart);
  await page.getByText('Show as table').click();
  const numbers = page.getByRole('region', { name: 'Events over time, as a table' }).locator('tbody td:nth-child(2)');
  await see(numbers);
  const sum = (await numbers.allInnerTexts()).reduce((all, one) => all + Number(one.replace(/\D/g, '')), 0);
  assert.equal(sum, 450, 'the table has every event');
  await expectUsable(page, 'past events');
  await page.getByRole('button', { name: 'Show only the busiest part' }).click();
  await page.waitForURL(/range=own/);
  await see(page.getByRole('img', { name: /^Events from / }));
  // The last bar has all events, because they were emitted a moment ago. A click on the bar shows only its time range.
  await page.goto('/events?range=24h&pattern=custom.*');
  await see(chart);
  const { width, height } = (await chart.boundingBox()) ?? { width: 0, height: 0 };
  await chart.click({ position: { x: width - 3, y: height - 10 } });
  await page.waitForURL(/range=own/);
  const range = new URL(page.url()).searchParams;
  const length = Date.parse(range.get('until') ?? '') - Date.parse(range.get('since') ?? '');
  assert.ok(length > 0 && length < 2 * 3_600_000, `${length} ms`);
  await see(page.getByText('Page 1, 50 events'));
  // A search for text in payloads has no histogram, because the server does not count its events.
  await page.goto('/events?range=24h&text=the%20first');
  await see(page.getByText('Page 1, 1 event'));
  assert.equal(await page.getByRole('img', { name: /^Events from / }).count(), 0);
}
