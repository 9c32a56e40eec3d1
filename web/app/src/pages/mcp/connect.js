/** Shows how a client connects: with a login in the browser, or with a token. */
import { html, useState } from '../../lib/preact.js';
import { useQuery } from '../../router.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Notice } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';
import { withCode } from '../../ui/rich-text.js';
import { Tabs } from '../../ui/tabs.js';
import { CLIENTS } from './clients.js';
import { TokenSteps } from './token.js';

const WAYS = [
  { value: '', label: 'Login in the browser' },
  { value: 'token', label: 'Token' },
];

/** @param {{name: string, url: string, search: boolean, oauth: boolean}} props `oauth`: the server accepts logins */
export function ConnectCard({ name, url, search, oauth }) {
  const query = useQuery();
  const [token, setToken] = useState(/** @type {import('api').Token | null} */ (null));
  const clients = CLIENTS.filter((client) => oauth || client.token);
  const client = clients.find(({ id }) => id === query.get('client')) ?? clients[0];
  const login = oauth && client.login;
  const both = login && client.token;
  return html`
    <${Card} title="Connect a client">
      <${Tabs} label="Client" tabs=${clients.map(({ id, label }) => ({ id, label }))} value=${client.id}
        onChange=${(/** @type {string} */ id) => query.set({ client: id })}>
        ${
          both &&
          html`
            <div class="mcp-way">
              <${Segmented} label="Connect with" value=${query.get('with') && 'token'} options=${WAYS}
                onInput=${(/** @type {string} */ way) => query.set({ with: way })} />
              <p class="muted small">
                ${query.get('with') ? 'For clients without OAuth, and for scripts.' : 'Nothing secret to copy.'}
              </p>
            </div>
          `
        }
        ${
          login && !(both && query.get('with'))
            ? html`<${LoginSteps} client=${client} login=${login} entry=${{ name, url, token: null }} />`
            : html`<${TokenSteps} ...${{ client, name, url, search, token }} onToken=${setToken} />`
        }
      </${Tabs}>
    </${Card}>
  `;
}

/**
 * @param {{client: import('./clients.js').Client, login: import('./clients.js').Login, entry:
 *   import('./clients.js').Entry}} props
 */
function LoginSteps({ client, login, entry }) {
  return html`
    ${login.remote && html`<${RemoteNotice} client=${client.label} vendor=${login.remote} />`}
    <ol class="mcp-steps">
      <li>
        <h3>Address</h3>
        <p class="muted">${withCode(login.place)}</p>
        <${CodeBlock} text=${login.write(entry)} language=${login.language} label=${`${client.label} configuration`}
          wrap tall />
      </li>
      <li>
        <h3>Login</h3>
        <p class="muted">
          ${withCode(login.start(entry.name))} Your browser opens a page of this server that shows which app asks.
          Press Allow.
        </p>
        <p class="muted">
          Afterwards, <a href="/account#apps">Connected apps</a> lists the client. There you can disconnect it.
        </p>
      </li>
    </ol>
  `;
}

/** @param {{client: string, vendor: string}} props */
function RemoteNotice({ client, vendor }) {
  if (location.protocol === 'https:')
    return html`
      <p class="muted small mcp-remote">
        ${client} connects from the servers of ${vendor}, which must reach this address.
      </p>
    `;
  return html`
    <div class="mcp-remote">
      <${Notice} tone="warn" icon="alert" title=${`${client} cannot reach this address`}>
        <p>
          It connects from the servers of ${vendor} and needs an https address that is reachable from the internet.
        </p>
      </${Notice}>
    </div>
  `;
}
