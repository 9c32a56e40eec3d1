/** The overview loads few bytes, and only from the svc server. */
import assert from 'node:assert/strict';

import { places, visit } from '../pages.js';

/** Bytes over the wire until the overview has all its data. */
const LIMIT = 200 * 1024;

/** @param {import('../scene.js').Scene} scene */
export default async function firstPaint(scene) {
  const page = await scene.open(scene.facts.ann);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  /** Bytes by request id; for a stream, which never finishes, the bytes so far. @type {Map<string, number>} */
  const received = new Map();
  /** @type {Set<string>} */
  const origins = new Set();
  session.on('Network.requestWillBeSent', ({ request }) => origins.add(new URL(request.url).origin));
  session.on('Network.dataReceived', ({ requestId, encodedDataLength }) =>
    received.set(requestId, (received.get(requestId) ?? 0) + encodedDataLength),
  );
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) =>
    received.set(requestId, encodedDataLength),
  );
  const overview = places(scene).find((place) => place.route === '/');
  assert.ok(overview);
  await visit(page, overview);
  const bytes = [...received.values()].reduce((sum, one) => sum + one, 0);
  console.error(`the overview took ${bytes} bytes from ${[...origins]}`);
  assert.ok(bytes > 5_000, `${bytes} bytes: the count does not work`);
  assert.ok(bytes < LIMIT, `the overview takes ${bytes} bytes`);
  assert.deepEqual(
    [...origins].filter((origin) => origin !== new URL(scene.url).origin),
    [],
  );
}
