/** Keyboard only: the skip link, the navigation, dialogs that trap and restore the focus. */
import assert from 'node:assert/strict';

import { see, seeNo, seePage } from '../scene.js';

/** @typedef {import('playwright-core').Page} Page */

/** The maximum number of Tab presses to reach an element. */
const REACH = 60;

/** @param {import('../scene.js').Scene} scene */
export default async function keyboard(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/tokens');
  await seePage(page, 'Tokens');

  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'Skip to content');
  assert.ok(await isSeen(page), 'the skip link shows when it has the focus');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'content');
  await tabTo(page, 'New token');
  assert.ok(await hasRing(page), 'the focused element has a ring');

  // The dialog takes, traps and restores the focus.
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await see(dialog);
  for (let step = 0; step < 20; step += 1) {
    assert.ok(await isInDialog(page), `after ${step} times Tab the focus is in the dialog`);
    await page.keyboard.press(step < 12 ? 'Tab' : 'Shift+Tab');
  }
  await page.keyboard.press('Escape');
  await seeNo(dialog);
  await hasFocus(page.getByRole('button', { name: 'New token' }));

  // Navigation by keyboard focuses the heading of the new page.
  await page.goto('/');
  await seePage(page, 'Overview');
  await tabTo(page, 'Methods');
  await page.keyboard.press('Enter');
  await seePage(page, 'Methods');
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  await see(page.getByRole('link', { name: 'orders.total' }));
  await tabTo(page, 'orders.total');
  await page.keyboard.press('Enter');
  await seePage(page, 'orders.total');
  await see(page.getByRole('button', { name: 'Call', exact: true }));
  await tabTo(page, 'a');
  await page.keyboard.type('40');
  await tabTo(page, 'b');
  await page.keyboard.type('2');
  // In the editor Tab indents; after Escape, Tab leaves it.
  await tabTo(page, 'Params as JSON');
  await page.keyboard.press('Escape');
  await tabTo(page, 'Call');
  await page.keyboard.press('Enter');
  await see(page.getByRole('region', { name: 'result', exact: true }).getByText('42'));

  // Enter opens a menu, and Escape closes it, also after an arrow key.
  const menu = page.getByRole('button', { name: 'Account of ann' });
  await menu.focus();
  await page.keyboard.press('Enter');
  await see(page.getByRole('menuitem', { name: 'Change password' }));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Escape');
  await seeNo(page.getByRole('menuitem', { name: 'Change password' }));
  await hasFocus(menu);
}

/**
 * Waits until an element has the focus: the focus moves only after the previous element was removed.
 * @param {import('playwright-core').Locator} wanted
 */
async function hasFocus(wanted) {
  const element = await wanted.elementHandle();
  await wanted.page().waitForFunction((wanted) => wanted === document.activeElement, element);
}

/** The name of the focused element. @param {Page} page */
function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return 'nothing';
    const label = 'labels' in element ? /** @type {HTMLInputElement} */ (element).labels?.[0] : null;
    return (element.ariaLabel ?? label?.innerText ?? element.innerText).trim();
  });
}

/** Presses Tab until an element with this name has the focus. @param {Page} page @param {string} name */
async function tabTo(page, name) {
  const passed = [];
  for (let step = 0; step < REACH; step += 1) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    if (at === name) return;
    passed.push(at);
  }
  assert.fail(`Tab does not reach \`${name}\`; it passed ${passed.join(' | ')}`);
}

/** @param {Page} page */
function isSeen(page) {
  return page.evaluate(() => {
    const box = document.activeElement?.getBoundingClientRect();
    return box !== undefined && box.width > 1 && box.top >= 0 && box.left >= 0;
  });
}

/** @param {Page} page */
function hasRing(page) {
  return page.evaluate(() => {
    const style = getComputedStyle(document.activeElement ?? document.body);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  });
}

/**
 * Whether the focus is in a dialog. The browser's toolbar is also allowed: it is part of the tab order, and the page
 * then reports the body as focused.
 * @param {Page} page
 */
function isInDialog(page) {
  return page.evaluate(
    () => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null,
  );
}
