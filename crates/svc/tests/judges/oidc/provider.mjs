// A real provider: `oidc-provider`. The variables REDIRECT_URI and LOGOUT_URI are addresses of the server under test.
// The script prints the issuer of the provider. Tests send these requests:
// - POST /test/accounts {"ann": {claims}} adds or replaces accounts.
// - POST /test/sign-in {"url", "login"} signs in as a person would, and answers {"callback"}.
// - POST /test/logout {"sub", "sid"?} sends a logout token to the server under test, and answers {"status"}: 200, the
//   status of a refusal, or 0 if there was no response.
import { createServer } from 'node:http';

import Provider from 'oidc-provider';

const { REDIRECT_URI, LOGOUT_URI } = process.env;
const accounts = new Map();
const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'svc',
      client_secret: 'a secret of the client: %+&',
      redirect_uris: [REDIRECT_URI],
      backchannel_logout_uri: LOGOUT_URI,
      backchannel_logout_session_required: true,
    },
  ],
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: {
    openid: ['sub'],
    profile: ['preferred_username', 'name'],
    email: ['email'],
    groups: ['groups', '_claim_names'],
  },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id, ...accounts.get(id) }),
  }),
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
  pkce: { required: () => true },
  // Omits the package's guard against local addresses: the server under test is on this machine.
  fetch: (url, { dispatcher: _, ...options }) => fetch(url, options),
});
provider.on('server_error', (_, error) => console.error(error));
const serve = provider.callback();

server.on('request', async (request, response) => {
  const action = request.url.startsWith('/test/') && ACTIONS[request.url.slice('/test/'.length)];
  if (!action) return serve(request, response);
  let body = '';
  for await (const part of request) body += part;
  const answer = await action(JSON.parse(body)).catch((error) => ({ error: String(error) }));
  response.writeHead(answer.error ? 500 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer));
});

const ACTIONS = {
  async accounts(changed) {
    for (const [id, claims] of Object.entries(changed)) accounts.set(id, claims);
    return {};
  },
  /** Goes through the pages of the provider as a browser without scripts does. */
  async 'sign-in'({ url, login }) {
    const cookies = new Map();
    let next = url;
    for (let step = 0; step < 12; step += 1) {
      if (!next.startsWith(issuer)) return { callback: next };
      const page = await visit(cookies, next);
      if (page.location) {
        next = new URL(page.location, issuer).href;
        continue;
      }
      const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1];
      if (!prompt) throw new Error(`no form on ${next}: ${page.text.slice(0, 500)}`);
      const form = new URLSearchParams({ prompt, login, password: 'x' });
      const sent = await visit(cookies, next, form);
      next = new URL(sent.location, issuer).href;
    }
    throw new Error('too many pages');
  },
  async logout({ sub, sid }) {
    const client = await provider.Client.find('svc');
    try {
      await client.backchannelLogout(sub, sid);
      return { status: 200 };
    } catch (error) {
      return { status: error.response?.status ?? 0 };
    }
  },
};

async function visit(cookies, url, form) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const answer = await fetch(url, {
    method: form ? 'POST' : 'GET',
    body: form,
    headers: { cookie },
    redirect: 'manual',
  });
  for (const set of answer.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
    if (value) cookies.set(name, value);
    else cookies.delete(name);
  }
  return { location: answer.headers.get('location'), text: await answer.text() };
}

console.log(issuer);
