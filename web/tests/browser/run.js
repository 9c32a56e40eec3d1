// Runs one flow in a browser: `node run.js <flow>`, started by the tests in crates/svc/tests/web.
// Its input is the environment variable SVC_FLOW. Exits with 0 if the flow succeeds.
import { chromium } from 'playwright-core';

import { Scene } from './scene.js';

const ARGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

const name = process.argv[2];
const input = JSON.parse(process.env.SVC_FLOW ?? '{}');
const { default: flow } = await import(`./flows/${name}.js`);
const browser = await chromium.launch({ executablePath: input.program, args: ARGS });
const scene = new Scene(browser, input);
try {
  await flow(scene);
  scene.expectNoErrors();
} catch (error) {
  process.exitCode = 1;
  console.error(error);
  console.error(`\nthe pages looked like this: ${await scene.photograph()}`);
  for (const line of scene.errors) console.error(`console: ${line}`);
} finally {
  await scene.leave().catch(() => {});
  await browser.close();
  scene.close();
}
