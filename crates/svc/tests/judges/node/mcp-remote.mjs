// `mcp-remote`, the bridge for clients that speak MCP only with a program that they start, not over HTTP. It gets the
// address of the server and no token. The user allows the access in a real browser.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { allow } from './browser.mjs';
import { ARGUMENTS, expectEcho, LIMIT_MS, URL_OF_SERVER } from './judging.mjs';

const options = { timeout: 3 * LIMIT_MS };
const cookie = process.env.MCP_COOKIE;
const page = (path, method = 'GET') => fetch(new URL(path, URL_OF_SERVER), { method, headers: { cookie } });
let logins = 0;

/** Starts the bridge, allows its access in the browser if it asks, and calls a tool. */
async function call() {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [fileURLToPath(new URL('node_modules/mcp-remote/dist/proxy.js', import.meta.url)), URL_OF_SERVER.href],
    // The `PATH` is empty, so that the bridge cannot start a browser itself.
    env: { HOME: process.env.HOME, PATH: '' },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr.on('data', (chunk) => {
    said += chunk;
    // The bridge prints the address before it listens at the callback, where an early answer would be lost.
    const asked = said.match(/by visiting:\s+(\S+)\s.*Waiting for authorization/s);
    if (!asked) return;
    said = '';
    logins += 1;
    allow(asked[1], 'MCP CLI Proxy').catch((error) => {
      console.error(error);
      process.exit(1);
    });
  });
  const client = new Client({ name: 'judge', version: '1.0.0' });
  try {
    await client.connect(transport, options);
    expectEcho(await client.callTool({ name: 'echo', arguments: ARGUMENTS }, undefined, options));
  } catch (error) {
    console.error(said);
    throw error;
  } finally {
    await client.close();
  }
}

await call();
assert.equal(logins, 1);
// The next start uses the stored tokens.
await call();
assert.equal(logins, 1);
// After the user has disconnected the app, the bridge asks again.
const { grants } = await (await page('/api/oauth/grants')).json();
assert.equal(grants.length, 1);
assert.equal((await page(`/api/oauth/grants/${grants[0].id}`, 'DELETE')).status, 204);
await call();
assert.equal(logins, 2);
console.log('ok');
process.exit(0);
