// The browser of a user who is signed in: a real Chromium. As a program, `browser.mjs ADDRESS NAME` connects the
// app of this name, which sent the user to this address, and prints the address to which the browser returned.
import { chromium } from 'playwright-core';
import { LIMIT_MS, URL_OF_SERVER } from './judging.mjs';

const ARGS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Opens the address of an app, checks the name on the page and agrees. Returns the address of the callback. */
export async function allow(address, name) {
  const browser = await chromium.launch({ executablePath: process.env.MCP_BROWSER, args: [...ARGS, '--no-first-run'] });
  try {
    const context = await browser.newContext();
    const [key, value] = process.env.MCP_COOKIE.split('=');
    await context.addCookies([{ name: key, value, url: URL_OF_SERVER.origin }]);
    const page = await context.newPage();
    page.setDefaultTimeout(LIMIT_MS);
    await page.goto(String(address));
    await page.getByRole('heading', { name: `Connect “${name}” to svc?` }).waitFor();
    // The button is disabled for a moment, so that a user does not agree by an accidental click.
    const button = page.locator('button:not([aria-disabled="true"])', { hasText: 'Allow' });
    const returned = page.waitForRequest((request) => new URL(request.url()).pathname.endsWith('/callback'));
    await button.click();
    const request = await returned;
    // Wait for the answer of the app. There is none if nothing listens at the callback.
    await request.response().catch(() => null);
    return new URL(request.url());
  } finally {
    await browser.close();
  }
}

if (import.meta.filename === process.argv[1]) {
  const [address, name] = process.argv.slice(2);
  console.log((await allow(address, name)).href);
}
