/** Connects apps by OAuth, with the same requests that a real app sends. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { check } from './accessibility.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{clientId: string, redirect: string, verifier: string, state: string}} App */

/** The only address with a private scheme that the server accepts. */
export const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';

/**
 * Registers an app at the server of a page.
 * @param {Page} page
 * @param {string} name
 * @param {string} redirect
 * @returns {Promise<App>}
 */
export async function register(page, name, redirect = 'http://127.0.0.1:9/callback') {
  const answer = await page.request.post('/register', { data: { client_name: name, redirect_uris: [redirect] } });
  assert.equal(answer.status(), 201, await answer.text());
  const random = () => randomBytes(32).toString('base64url');
  return { clientId: (await answer.json()).client_id, redirect, verifier: random(), state: random() };
}

/** The address that the app opens in the browser. @param {App} app */
export function authorizePath({ clientId, redirect, verifier, state }) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirect,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'mcp',
    state,
  });
  return `/authorize?${query}`;
}

/**
 * Exchanges the code of an answer for a token.
 * @param {string} url of the server
 * @param {App} app
 * @param {URLSearchParams} answer
 * @returns {Promise<string>}
 */
export async function exchange(url, app, answer) {
  assert.equal(answer.get('state'), app.state);
  assert.equal(answer.get('iss'), url);
  const response = await fetch(`${url}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: app.clientId,
      redirect_uri: app.redirect,
      code: answer.get('code') ?? '',
      code_verifier: app.verifier,
    }),
  });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body.access_token;
}

/** The status of a request to `/mcp`. @param {string} url @param {string} token */
export async function mcpStatus(url, token) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  await response.text();
  return response.status;
}

/**
 * Connects a new app to the signed-in user of a page. Uses only requests, and does not open the consent page.
 * @param {string} url
 * @param {Page} page
 * @param {string} name
 * @returns {Promise<string>} its token
 */
export async function connect(url, page, name) {
  const app = await register(page, name);
  const asked = await page.request.get(authorizePath(app), { maxRedirects: 0 });
  assert.equal(asked.status(), 303, await asked.text());
  const id = new URL(asked.headers().location, url).searchParams.get('request');
  const path = `/api/oauth/requests/${id}`;
  assert.equal((await page.request.get(path)).status(), 200);
  const answer = await page.request.post(path, { data: { approve: true }, headers: { Origin: url } });
  assert.equal(answer.status(), 200, await answer.text());
  return exchange(url, app, new URL((await answer.json()).redirect_to).searchParams);
}

/** The loopback address of an app, with the answers that browsers brought to it. */
export class Callback {
  /** @type {URLSearchParams[]} */
  answers = [];
  #server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (pathname === '/callback') this.answers.push(searchParams);
    response.writeHead(200, { 'Content-Type': 'text/html', Connection: 'close' });
    response.end('<!doctype html><title>app</title><link rel="icon" href="data:,"><h1>Back in the app</h1>');
  });

  static async start() {
    const callback = new Callback();
    callback.#server.listen(0, '127.0.0.1');
    await once(callback.#server, 'listening');
    return callback;
  }

  get url() {
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    return `http://127.0.0.1:${port}/callback`;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/**
 * Fails if axe has a finding in light or dark, or if the page scrolls sideways on a phone.
 * @param {Page} page
 * @param {string} what
 */
export async function expectUsable(page, what) {
  const size = page.viewportSize();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme });
    // Wait for the transition of the colours.
    await page.waitForFunction(() => document.getAnimations().every((one) => one.playState !== 'running'));
    assert.deepEqual(await check(page), [], `${what} in ${colorScheme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  // Charts get their new width a moment after the window.
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  await page
    .waitForFunction(() => document.documentElement.scrollWidth <= 390)
    .catch(async () => assert.fail(`${what} is ${await width()} px wide on a phone`));
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  if (size) await page.setViewportSize(size);
}
