/**
 * The first load makes few requests for few bytes, all of them to the server. Files with their version in the address
 * are requested once.
 */
import assert from 'node:assert/strict';

import { places } from '../pages.js';
import { seeLoaded } from '../scene.js';

/** Requests of the first load until the overview has all its data. */
const REQUESTS_MAX = 25;
/** Files among them: the HTML file, the boot script, one stylesheet, three bundles, the icon; without the worker. */
const FILES_MAX = 7;
/** Bytes over the wire until the overview has all its data. */
const BYTES_MAX = 200 * 1024;
/** The shortest interval at which the overview requests its data again. */
const POLLING_MS = 5_000;
/** Delay of each request, as on a mobile connection. */
const LATENCY_MS = 100;

/** @param {import('../scene.js').Scene} scene */
export default async function secondVisit(scene) {
  const page = await scene.open(scene.facts.ann);
  // Without polling: on a busy machine it would add requests while the page still loads.
  await page.addInitScript((longest) => {
    const { setTimeout: later } = window;
    const sooner = (/** @type {() => void} */ act, ms = 0) => (ms >= longest ? 0 : later(act, ms));
    Object.assign(window, { setTimeout: sooner });
  }, POLLING_MS);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  const first = await load(page, scene, session);
  const second = await load(page, scene, session);
  // Times depend on the machine, so they are only reported. The flow checks counts and bytes.
  for (const [name, { asked, origins, ...numbers }] of Object.entries({ first, second })) {
    console.error(`${name} load: ${JSON.stringify(numbers)}\n  ${asked.join('\n  ')}`);
    assert.deepEqual(origins, [new URL(scene.url).origin], `origins of the ${name} load`);
  }
  assert.ok(first.requests <= REQUESTS_MAX, `the first load makes ${first.requests} requests`);
  assert.ok(first.files <= FILES_MAX, `the first load requests ${first.files} files: ${first.asked}`);
  assert.ok(first.files > 4, `${first.files} files: the count does not work`);
  assert.ok(first.bytes > 20_000, `${first.bytes} bytes: the count does not work`);
  assert.ok(first.bytes <= BYTES_MAX, `the first load takes ${first.bytes} bytes`);
  // The HTML file has no version: the browser asks whether it changed.
  assert.deepEqual(
    second.asked.filter((path) => path.startsWith('/web/')),
    [],
    'the second load requests no file',
  );
}

/**
 * Loads the overview and counts. `first_paint_ms` is the time until the frame of the page is visible, `usable_ms` the
 * time until its data is.
 * @param {import('playwright-core').Page} page
 * @param {import('../scene.js').Scene} scene
 * @param {import('playwright-core').CDPSession} session
 */
async function load(page, scene, session) {
  const overview = places(scene).find((place) => place.route === '/');
  assert.ok(overview);
  /** @type {Map<string, URL>} */
  const sent = new Map();
  /** @type {Set<string>} */
  const cached = new Set();
  /** Bytes by request id; for a stream, which never finishes, the bytes so far. @type {Map<string, number>} */
  const received = new Map();
  /** @type {Record<string, (message: any) => void>} */
  const listeners = {
    'Network.requestWillBeSent': ({ requestId, request }) => sent.set(requestId, new URL(request.url)),
    'Network.requestServedFromCache': ({ requestId }) => cached.add(requestId),
    'Network.responseReceived': ({ requestId, response }) => {
      if (response.fromDiskCache) cached.add(requestId);
    },
    'Network.dataReceived': ({ requestId, encodedDataLength }) =>
      received.set(requestId, (received.get(requestId) ?? 0) + encodedDataLength),
    'Network.loadingFinished': ({ requestId, encodedDataLength }) => received.set(requestId, encodedDataLength),
  };
  for (const [name, listener] of Object.entries(listeners)) session.on(/** @type {any} */ (name), listener);
  const start = Date.now();
  await page.goto('/', { waitUntil: 'commit' });
  await overview.shows(page).waitFor();
  const usable = Date.now() - start;
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  await seeLoaded(page);
  // All files have arrived, so it is known which of them came from the cache.
  await page.waitForLoadState();
  for (const [name, listener] of Object.entries(listeners)) session.off(/** @type {any} */ (name), listener);
  const requests = [...sent].filter(([id]) => !cached.has(id));
  // The worker's script is loaded by the worker, so this session does not see whether it came from the cache.
  const asked = requests.map(([, { pathname }]) => pathname).filter((path) => !path.endsWith('/stream-worker.js'));
  return {
    first_paint_ms: Math.round(paint),
    usable_ms: usable,
    requests: requests.length,
    files: asked.filter((path) => path === '/' || path.startsWith('/web/')).length,
    bytes: requests.reduce((sum, [id]) => sum + (received.get(id) ?? 0), 0),
    origins: [...new Set([...sent.values()].map(({ origin }) => origin))],
    asked,
  };
}
