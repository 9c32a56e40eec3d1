/** Hostile markup in data appears as text, on every page and in every drawer that shows the data. */
import assert from 'node:assert/strict';

import { expectEveryRoute, nameOf, places, visit, windows } from '../pages.js';
import { see } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** Pages that do not show the markup; all others must. */
const WITHOUT = [
  'sinks-new',
  'device',
  'scripts-new',
  'users',
  'groups',
  'roles',
  'servers',
  'login',
  'sign-in',
  'api-docs',
  'setup',
  'not-found',
  'forbidden',
  'tokens',
  'tokens-new',
  'spaces',
  'spaces-new',
  'sources',
  'sources-new',
  'schedules',
  'schedules-new',
  'providers',
  'providers-new',
  'templates-new',
];

/** @param {import('../scene.js').Scene} scene */
export default async function hostile(scene) {
  const { markup, sink, printer, event } = scene.facts;
  const all = places(scene);
  const windowOf = await windows(scene);
  const unseen = [];
  for (const place of all) {
    const page = windowOf(place);
    await visit(page, place);
    if (!WITHOUT.includes(nameOf(place)) && !(await holds(page, markup))) unseen.push(nameOf(place));
    await expectHarmless(page, nameOf(place));
  }
  const page = windowOf(all[0]);
  await expectEveryRoute(page, all);
  assert.deepEqual(unseen, [], 'pages that do not show the markup');

  // Content that appears only after a click.
  await page.goto('/methods/speak');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText(markup));
  await expectHarmless(page, 'the result of a call');
  await page.goto(`/events?event=${event.id}`);
  await see(page.getByRole('dialog').getByRole('link', { name: sink.name }));
  await expectHarmless(page, 'the drawer of an event');
  for (const [of, id] of [
    ['a webhook', sink.id],
    ['a script', printer.id],
  ]) {
    await page.goto(`/sinks/${id}`);
    await page
      .getByRole('button', { name: /custom\.said/ })
      .first()
      .click();
    await see(page.getByRole('dialog').getByText(markup));
    await expectHarmless(page, `a delivery of ${of}`);
    await page.goto(`/sinks/${id}?tab=settings`);
    await see(page.getByRole('button', { name: 'Save changes' }));
    await expectHarmless(page, `the settings of ${of}`);
  }
  await page.goto(`/scripts/${scene.facts.script.id}`);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await see(page.getByRole('region', { name: 'output', exact: true }).getByText(markup));
  await expectHarmless(page, 'the output of a script');
  // Hostile addresses.
  await page.goto(`/events?pattern=${encodeURIComponent(markup)}`);
  await see(page.getByRole('alert').getByText(markup));
  await expectHarmless(page, 'a filter in the address');
  await page.goto(`/${markup}`);
  await see(page.getByRole('heading', { name: 'Page not found' }));
  await expectHarmless(page, 'an unknown address');
}

/** Whether the page shows the markup as text or in a field. @param {Page} page @param {string} markup */
function holds(page, markup) {
  return page
    .waitForFunction((text) => {
      const fields = [...document.querySelectorAll('input, textarea')].map(
        (field) => /** @type {HTMLInputElement} */ (field).value,
      );
      return document.body.innerText.includes(text) || fields.some((value) => value.includes(text));
    }, markup)
    .then(
      () => true,
      () => false,
    );
}

/** @param {Page} page @param {string} where */
async function expectHarmless(page, where) {
  const found = await page.evaluate(() => ({
    images: document.querySelectorAll('img, iframe, object').length,
    hacked: 'hacked' in window,
    handlers: document.querySelectorAll('[onerror], [onclick], [onload]').length,
  }));
  assert.deepEqual(found, { images: 0, hacked: false, handlers: 0 }, where);
}
