/** Writes the pictures of the README into a folder. */
import { join } from 'node:path';

import { see, seePage } from '../scene.js';

const ORDER = {
  customer: { email: 'ada@example.org' },
  items: [{ sku: 'BK-1024', quantity: 2 }],
  priority: 'high',
};

/** @param {import('../scene.js').Scene} scene */
export default async function pictures(scene) {
  await overview(scene);
  await method(scene);
}

/** @param {import('../scene.js').Scene} scene */
async function overview(scene) {
  const page = await scene.open(scene.facts.ann, {
    colorScheme: 'light',
    reducedMotion: 'reduce',
    viewport: { width: 1280, height: 900 },
  });
  // The charts show an hour, but the server of the test has run only for a minute: the numbers of calls are invented.
  for (const [path, key] of [
    ['**/api/stats?*', 'minutes'],
    ['**/api/stats/calls?*', 'points'],
  ]) {
    await page.route(path, async (route) => {
      const answer = await route.fetch();
      const stats = await answer.json();
      await route.fulfill({ response: answer, json: { ...stats, ...invented(stats, key) } });
    });
  }
  await page.goto('/');
  await page.getByRole('button', { name: 'Hide' }).click();
  await see(page.getByRole('main').getByText(scene.facts.event.type));
  await see(page.getByText('old-crm'));
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(scene.facts.folder, 'overview.png') });
}

/** Invented values of an hour, and their sum. @param {any} stats @param {string} key of the minutes */
function invented(stats, key) {
  const minutes = stats[key].map(minute);
  const sum = (/** @type {string} */ name) =>
    minutes.reduce((/** @type {number} */ all, /** @type {any} */ one) => all + one[name], 0);
  const total = { ...stats.total, calls: sum('calls'), errors: sum('errors'), p50_ms: 18, p95_ms: 131 };
  return { [key]: minutes, ...(stats.total ? { total } : {}) };
}

/** Invented values of a minute: the calls rise and fall, and a few fail. @param {any} one @param {number} index */
function minute(one, index) {
  const wave = Math.sin(index / 9) * 60 + Math.sin(index * 2.3) * 24;
  const calls = Math.round(130 + wave);
  return {
    ...one,
    calls,
    errors: index % 7 === 3 ? Math.round(calls / 20) : 0,
    p50_ms: Math.round(18 + Math.sin(index / 5) * 4),
    p95_ms: Math.round(120 + wave / 2 + Math.sin(index * 1.7) * 15),
  };
}

/** @param {import('../scene.js').Scene} scene */
async function method(scene) {
  const page = await scene.open(scene.facts.ann, {
    colorScheme: 'dark',
    reducedMotion: 'reduce',
    viewport: { width: 1280, height: 1160 },
  });
  await page.goto('/methods/orders.create');
  await seePage(page, 'orders.create');
  await page.getByLabel('Params as JSON').fill(JSON.stringify(ORDER, null, 2));
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  const result = page.getByRole('region', { name: 'result', exact: true });
  await see(result.getByText('"BK-1024"'));
  await page.getByRole('heading', { level: 1 }).click();
  await page.screenshot({ path: join(scene.facts.folder, 'method.png') });
}
