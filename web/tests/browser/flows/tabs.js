/** The quota of the user is one event stream. Eight tabs share this stream, and hidden tabs release it. */
import { see, seePage } from '../scene.js';

/** More than six: a browser opens at most six connections to a server over HTTP/1.1. */
const TABS = 8;

/** @param {import('../scene.js').Scene} scene */
export default async function tabs(scene) {
  const { ann } = scene.facts;
  const first = await scene.open(ann);
  const all = [first];
  await first.goto('/events');
  await see(first.getByText('Live', { exact: true }));
  for (let number = 1; number < TABS; number += 1) {
    const page = await first.context().newPage();
    all.push(page);
    await page.goto('/events');
    await see(page.getByText('Live', { exact: true }));
  }
  await scene.meanwhile('emit', 'to.all');
  for (const page of all) await see(page.getByRole('main').getByText('custom.to.all').first());
  await scene.meanwhile('expect that the only stream is in use');

  // Hidden tabs release the stream; a tab that is shown again has missed nothing.
  for (const page of all) await setVisible(page, false);
  await scene.meanwhile('open and close a stream');
  await scene.meanwhile('emit', 'while.hidden');
  await setVisible(first, true);
  await see(first.getByRole('main').getByText('custom.while.hidden').first());
  await scene.meanwhile('expect that the only stream is in use');

  // A page without live data needs no stream.
  await first.goto('/tokens');
  await seePage(first, 'Tokens');
  await scene.meanwhile('open and close a stream');
}

/**
 * Headless Chromium never hides a tab, so the test sets the visibility of the page.
 * @param {import('playwright-core').Page} page
 * @param {boolean} visible
 */
async function setVisible(page, visible) {
  await page.evaluate((shown) => {
    if (shown) Reflect.deleteProperty(document, 'visibilityState');
    else Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, visible);
}
