/** The tools of a flow: browser windows of users, console errors, and the connection to the Rust test. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{username: string, password: string, token: string}} Person */
/** @typedef {{id: string, name: string}} Named */

/** Timeout for immediate effects; generous, because the machine may be busy. */
const SOON_MS = 60_000;

export class Scene {
  /** Errors of all consoles, in the order they came. @type {string[]} */
  errors = [];
  /** @type {Page[]} */
  #pages = [];
  #lines = createInterface({ input: process.stdin });
  #answers = this.#lines[Symbol.asyncIterator]();

  /**
   * @param {import('playwright-core').Browser} browser
   * @param {{url: string, results: string, facts: any}} input
   */
  constructor(browser, input) {
    this.browser = browser;
    this.url = input.url;
    this.results = input.results;
    this.facts = input.facts;
  }

  /**
   * Opens a new browser window, signed in if a user is given.
   * @param {Person | null} [person]
   * @param {import('playwright-core').BrowserContextOptions} [options]
   * @returns {Promise<Page>}
   */
  async open(person, options) {
    const context = await this.browser.newContext({
      baseURL: this.url,
      viewport: { width: 1280, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    context.setDefaultTimeout(SOON_MS);
    await context.addInitScript(recordToasts);
    if (person) {
      const answer = await context.request.post('/api/auth/login', {
        data: { username: person.username, password: person.password },
      });
      assert.equal(answer.status(), 200, await answer.text());
    }
    context.on('console', (message) => {
      if (message.type() === 'error')
        this.errors.push(`${message.page()?.url()}: ${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (error) => this.errors.push(`${error.page()?.url()}: ${error.error().stack}`));
    const page = await context.newPage();
    this.#pages.push(page);
    return page;
  }

  /**
   * Asks the Rust test to act outside the browser, and waits until it is done.
   * @param {string} word
   * @param {any} [value] input for the Rust test
   */
  async meanwhile(word, value = null) {
    console.log(`@@ ${JSON.stringify({ word, value })}`);
    const { done } = await this.#answers.next();
    assert.ok(!done, `no answer to \`${word}\``);
  }

  /**
   * Fails on unexpected console errors, and clears the expected ones.
   * @param {RegExp} [expected]
   */
  expectNoErrors(expected) {
    const others = this.errors.filter((line) => !expected?.test(line));
    assert.deepEqual(others, [], 'errors in the console');
    this.errors.length = 0;
  }

  /** Takes screenshots of all windows and returns their folder. */
  async photograph() {
    for (const [index, page] of this.#pages.entries()) {
      if (!page.isClosed()) await page.screenshot({ path: join(this.results, `failed-${index}.png`) }).catch(() => {});
    }
    return this.results;
  }

  /** Closes all windows, so that they stop sending requests. */
  async leave() {
    for (const page of this.#pages.splice(0)) {
      // A request that is being answered by the flow would fail when its window closes.
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.context().close();
    }
  }

  close() {
    this.#lines.close();
  }
}

/**
 * Waits until an element is visible.
 * @param {import('playwright-core').Locator} locator
 */
export async function see(locator) {
  await locator.filter({ visible: true }).first().waitFor({ state: 'visible' });
}

/**
 * Waits until an element is not visible.
 * @param {import('playwright-core').Locator} locator
 */
export async function seeNo(locator) {
  await locator.first().waitFor({ state: 'hidden' });
}

/**
 * Waits until no part of a page is loading. Several parts may load at the same time.
 * @param {Page} page
 */
export async function seeLoaded(page) {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

/**
 * Waits until a toast with this text was visible. A toast disappears after a few seconds, maybe before this is called.
 * @param {Page} page
 * @param {string} text
 */
export async function seeToast(page, text) {
  await page.waitForFunction((wanted) => {
    /** @type {string[]} */
    const shown = /** @type {any} */ (window).shownToasts;
    const at = shown.findIndex((one) => one.includes(wanted));
    return at >= 0 && shown.splice(at, 1).length > 0;
  }, text);
}

/** Runs in the page: keeps the texts of the toasts that were visible. */
function recordToasts() {
  /** @type {string[]} */
  const shown = [];
  const known = new WeakSet();
  Object.assign(window, { shownToasts: shown });
  setInterval(() => {
    for (const toast of document.querySelectorAll('.toast')) {
      if (known.has(toast) || !toast.checkVisibility()) continue;
      known.add(toast);
      shown.push(toast.textContent ?? '');
    }
  }, 100);
}

/**
 * Waits until the clipboard has a text that matches, and returns it. A page writes the clipboard after the click.
 * @param {Page} page
 * @param {RegExp} pattern
 * @returns {Promise<string>}
 */
export async function seeClipboard(page, pattern) {
  const until = Date.now() + SOON_MS;
  for (;;) {
    const text = await page.evaluate(async () => {
      await new Promise(requestAnimationFrame);
      return navigator.clipboard.readText();
    });
    if (pattern.test(text)) return text;
    assert.ok(Date.now() < until, `the clipboard has: ${text}`);
  }
}

/**
 * Waits for the heading of a page, which appears with the page.
 * @param {Page} page
 * @param {string | RegExp} name
 */
export async function seePage(page, name) {
  await see(page.getByRole('heading', { level: 1, name }));
}

/**
 * Holds requests back until the returned function is called.
 * @param {Page} page
 * @param {string} path a pattern
 * @returns {Promise<() => void>}
 */
export async function hold(page, path) {
  let release = () => {};
  const released = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  await page.route(path, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}
