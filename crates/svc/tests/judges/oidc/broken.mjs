// A provider whose answers a test controls: `oauth2-mock-server`. Prints its issuer, and the address to which
// tests send these requests:
// - POST /plan {"claims", "header", "sign": "none" | "hs256" | "other", "rotate"} sets how the next tokens differ from
//   correct ones: changed members of claims and header (null removes one), the way to sign, and whether to add a new
//   key now. Answers {"kids"}: the ids of the keys that have signed so far.
// - POST /logout-token with claims answers {"token"}.
import { createHmac, createPublicKey, createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import { OAuth2Server } from 'oauth2-mock-server';

const server = new OAuth2Server();
await server.issuer.keys.generate('RS256');
await server.start(0, '127.0.0.1');
server.issuer.url = `http://127.0.0.1:${server.address().port}`;

let plan = {};
const nonces = new Map();
/** Ids of the keys that have signed an ID token. */
const kids = new Set();
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const change = (target, changes = {}) => {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete target[name];
    else target[name] = value;
  }
};

server.service.on('beforeAuthorizeRedirect', (redirect, request) => {
  const { nonce, client_id } = request.query;
  nonces.set(redirect.url.searchParams.get('code'), { nonce, client_id });
});
server.service.on('beforeTokenSigning', (token, request) => {
  const asked = nonces.get(request.body?.code) ?? {};
  Object.assign(token.payload, {
    sub: 'johndoe',
    aud: asked.client_id,
    nonce: asked.nonce,
    preferred_username: 'johndoe',
    groups: [],
  });
  change(token.payload, plan.claims);
  change(token.header, plan.header);
});
server.service.on('beforeResponse', (response) => {
  const [header, payload] = response.body.id_token.split('.');
  const read = JSON.parse(Buffer.from(header, 'base64url'));
  kids.add(read.kid);
  if (plan.sign) response.body.id_token = sign(plan.sign, read, payload);
});

/** Signs the token in a way that the server under test must reject. */
function sign(how, header, payload) {
  if (how === 'none') return `${encode({ ...header, alg: 'none' })}.${payload}.`;
  if (how === 'hs256') {
    const [key] = server.issuer.keys.toJSON();
    const secret = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const message = `${encode({ ...header, alg: 'HS256' })}.${payload}`;
    return `${message}.${createHmac('sha256', secret).update(message).digest('base64url')}`;
  }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const message = `${encode(header)}.${payload}`;
  return `${message}.${createSign('sha256').update(message).sign(privateKey, 'base64url')}`;
}

/** A token with exactly these claims, signed with the key of the provider. */
const tokenWith = (claims) =>
  server.issuer.buildToken({
    scopesOrTransform: (_, payload) => {
      for (const name of Object.keys(payload)) delete payload[name];
      Object.assign(payload, claims);
    },
  });

const control = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const given = JSON.parse(body);
  const answer = {};
  if (request.url === '/plan') {
    plan = given;
    answer.kids = [...kids];
    if (plan.rotate) await server.issuer.keys.generate('RS256');
  } else {
    answer.token = await tokenWith(given);
  }
  response.end(JSON.stringify(answer));
});
await new Promise((done) => control.listen(0, '127.0.0.1', done));
console.log(server.issuer.url);
console.log(`http://127.0.0.1:${control.address().port}`);
