// The hook that loads the data of a page, in the real Preact without a browser.
import assert from 'node:assert/strict';
import { register } from 'node:module';
import { test } from 'node:test';

// The pages import the vendored runtime by its path on the server.
const app = new URL('../app/', import.meta.url).href;
register(
  `data:text/javascript,${encodeURIComponent(`export const resolve = (name, context, next) =>
    next(name.startsWith('/web/') ? ${JSON.stringify(app)} + name.slice('/web/'.length) : name, context);`)}`,
);
const { h, render } = await import('../app/src/lib/preact.js');
const { useResource } = await import('../app/src/lib/resource.js');

/** Waits for a condition, for about five seconds. @param {() => boolean} isTrue @param {string} what */
async function until(isTrue, what) {
  for (let tries = 0; !isTrue(); tries += 1) {
    assert.ok(tries < 500, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a source that becomes null ends the loading of the previous source', async () => {
  // The component renders nothing, so an object that only looks like an element is enough as root.
  const root = /** @type {any} */ ({ childNodes: [], insertBefore() {}, ownerDocument: {} });
  /** @type {AbortSignal[]} */
  const requests = [];
  /** @type {any} */
  let resource;
  const never = (/** @type {AbortSignal} */ signal) => {
    requests.push(signal);
    return new Promise(() => {});
  };
  const Page = (/** @type {{open: boolean}} */ { open }) => {
    resource = useResource(open ? never : null, { deps: [open] });
    return null;
  };
  render(h(Page, { open: true }), root);
  await until(() => requests.length === 1 && resource.loading, 'the request');
  render(h(Page, { open: false }), root);
  await until(() => requests[0].aborted, 'the abort');
  await until(() => !resource.loading, 'the end of loading');
  assert.equal(requests.length, 1);
  render(null, root);
});
