/** Files whose address contains the version are requested only once. The first load makes few requests. */
import assert from 'node:assert/strict';

import { places } from '../pages.js';

/** Requests of the first load until the overview has all its data. */
const REQUESTS_MAX = 80;
/** Delay of each request, as on a mobile connection. */
const LATENCY_MS = 100;

/** @param {import('../scene.js').Scene} scene */
export default async function secondVisit(scene) {
  const page = await scene.open(scene.facts.ann);
  const overview = places(scene).find((place) => place.route === '/');
  assert.ok(overview);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  const first = await load(page, overview, session);
  const second = await load(page, overview, session);
  // Times depend on the machine. They are only printed; the counts decide.
  console.error(`first load: ${JSON.stringify(first)}`);
  console.error(`second load: ${JSON.stringify(second)}`);
  assert.ok(first.requests <= REQUESTS_MAX, `the first load makes ${first.requests} requests`);
  assert.ok(first.files > 10, 'the count of files works');
  assert.equal(second.files, 0, 'the second load requests no file');
}

/**
 * @param {import('playwright-core').Page} page
 * @param {import('../pages.js').Place} place
 * @param {import('playwright-core').CDPSession} session
 */
async function load(page, place, session) {
  /** @type {Map<string, string>} */
  const sent = new Map();
  /** @type {Set<string>} */
  const cached = new Set();
  const onSent = (/** @type {any} */ { requestId, request }) => sent.set(requestId, new URL(request.url).pathname);
  const onCached = (/** @type {any} */ { requestId }) => cached.add(requestId);
  const onResponse = (/** @type {any} */ { requestId, response }) => {
    if (response.fromDiskCache) cached.add(requestId);
  };
  session.on('Network.requestWillBeSent', onSent);
  session.on('Network.requestServedFromCache', onCached);
  session.on('Network.responseReceived', onResponse);
  const start = Date.now();
  await page.goto('/', { waitUntil: 'commit' });
  await page.locator('.sidebar').first().waitFor();
  const shell = Date.now() - start;
  await place.shows(page).waitFor();
  const usable = Date.now() - start;
  session.off('Network.requestWillBeSent', onSent);
  session.off('Network.requestServedFromCache', onCached);
  session.off('Network.responseReceived', onResponse);
  const asked = [...sent].filter(([id]) => !cached.has(id)).map(([, path]) => path);
  // The worker's script is loaded by the worker, so this session does not see whether it came from the cache.
  const files = asked.filter((path) => path.startsWith('/web/') && !path.endsWith('/stream-worker.js')).length;
  return { shell_ms: shell, usable_ms: usable, requests: asked.length, files };
}
