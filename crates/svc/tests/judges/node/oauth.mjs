// OAuth with the TypeScript clients. At first a client has only the address of the server. The
// client gets a token, calls a tool, and renews the token. Then the user disconnects the client. The
// argument is `sdk1` or `client2`. The user agrees in a real browser.
import assert from 'node:assert/strict';
import * as client2 from '@modelcontextprotocol/client';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { allow } from './browser.mjs';
import { ARGUMENTS, expectEcho, LIMIT_MS, URL_OF_SERVER } from './judging.mjs';

const libraries = {
  sdk1: { Client, StreamableHTTPClientTransport, UnauthorizedError },
  client2,
};
const name = process.argv[2];
const library = libraries[name];
const cookie = process.env.MCP_COOKIE;
const options = { timeout: LIMIT_MS };

/** Sends a request with the session cookie of the user, as a page in the user's browser does. */
const page = (path, method = 'GET') => fetch(new URL(path, URL_OF_SERVER), { method, headers: { cookie } });

/** The values that the client stores. */
class Memory {
  redirectUrl = 'http://127.0.0.1:51234/callback';
  clientMetadata = {
    client_name: 'judge',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  logins = 0;
  clientInformation = () => this.client;
  saveClientInformation = (client) => {
    this.client = client;
  };
  tokens = () => this.saved;
  saveTokens = (tokens) => {
    this.saved = tokens;
  };
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => {
    this.verifier = verifier;
  };
  invalidateCredentials = () => {
    this.saved = undefined;
  };
  redirectToAuthorization = (address) => {
    this.logins += 1;
    this.address = address;
  };
}

const authProvider = new Memory();
const newTransport = () => new library.StreamableHTTPClientTransport(URL_OF_SERVER, { authProvider });
const newClient = () => new library.Client({ name: 'judge', version: '1.0.0' });
const call = (client) => {
  const params = { name: 'echo', arguments: ARGUMENTS };
  return name === 'sdk1' ? client.callTool(params, undefined, options) : client.callTool(params, options);
};

const first = newTransport();
await assert.rejects(newClient().connect(first, options), library.UnauthorizedError);
const answer = (await allow(authProvider.address, 'judge')).searchParams;
await (name === 'sdk1' ? first.finishAuth(answer.get('code')) : first.finishAuth(answer));
const client = newClient();
await client.connect(newTransport(), options);
expectEcho(await call(client));
const before = authProvider.saved;
assert.equal(authProvider.saved.scope, 'mcp');

// An access token that is no longer accepted is renewed without the user.
await fetch(new URL('/revoke', URL_OF_SERVER), {
  method: 'POST',
  body: new URLSearchParams({ token: before.access_token, client_id: authProvider.client.client_id }),
});
expectEcho(await call(client));
assert.notEqual(authProvider.saved.access_token, before.access_token);
assert.notEqual(authProvider.saved.refresh_token, before.refresh_token);
assert.equal(authProvider.logins, 1);

// After the user disconnected the app, the client must ask the user again.
const { grants } = await (await page('/api/oauth/grants')).json();
const grant = grants.find((grant) => grant.app.client_id === authProvider.client.client_id);
assert.equal((await page(`/api/oauth/grants/${grant.id}`, 'DELETE')).status, 204);
await assert.rejects(call(client), library.UnauthorizedError);
assert.equal(authProvider.logins, 2);
console.log('ok');
process.exit(0);
