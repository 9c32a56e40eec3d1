// The scenarios of the conformance suite for authorization servers. The user agrees in a real browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { allow } from './browser.mjs';
import { URL_OF_SERVER } from './judging.mjs';

const issuer = URL_OF_SERVER.origin;

/** A port that is free now. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const port = await freePort();
const registered = await fetch(`${issuer}/register`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ client_name: 'judge', redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
});
assert.equal(registered.status, 201);
const { client_id } = await registered.json();

const suite = spawn(process.execPath, [
  fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url)),
  'authorization',
  ...['--url', issuer, '--client-id', client_id, '--port', String(port)],
]);
let said = '';
let asked = false;
const listen = (chunk) => {
  said += chunk;
  const address = said.match(/http\S+\/authorize\?\S+/);
  if (asked || !address || !/\s/.test(said.slice(address.index + address[0].length))) return;
  asked = true;
  allow(address[0], 'judge').catch((error) => {
    console.error(error);
    suite.kill();
  });
};
suite.stdout.on('data', listen);
suite.stderr.on('data', listen);
const [code] = await once(suite, 'exit');
console.error(said);
assert.ok(asked, 'the suite asked the user');
assert.equal(code, 0);
console.log('ok');
process.exit(0);
