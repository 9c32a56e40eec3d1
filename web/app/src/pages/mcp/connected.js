/** The clients that called methods through MCP in the last 7 days: with which credential, and how often. */
import { api } from '../../lib/api.js';
import { formatNumber, plural } from '../../lib/format.js';
import { me } from '../../lib/me.js';
import { displayName } from '../../lib/oauth.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { isFailure } from '../calls/words.js';

/** @typedef {{key: string, kind: string, name: string, calls: number, failed: number, last: string}} Client */

const WEEK_MS = 7 * 86_400_000;
const EVERY_MS = 15_000;
/** The maximum number of calls that are counted, newest first. */
const READ_MAX = 500;
/** The maximum number of tokens, and of connected apps, whose names are loaded. */
const NAMES_MAX = 1_000;

/** The label of each kind of credential in the journal. @type {Record<string, string>} */
const KINDS = { token: 'token', app: 'connected app', session: 'browser', agent: 'agent', script: 'script' };

export function ConnectedCard() {
  const loaded = useResource(loadClients, { every: EVERY_MS });
  const { clients, hasMore } = loaded.data ?? { clients: [], hasMore: false };
  return html`
    <${Card} title="Connected clients" flush
      description=${
        hasMore
          ? `Who called methods as you through MCP: the newest ${formatNumber(READ_MAX)} calls.`
          : 'Who called methods as you through MCP in the last 7 days.'
      }
      actions=${html`<${Button} size="small" icon="arrow-right" href="/calls?via=mcp">All calls</${Button}>`}>
      ${
        pendingOf(loaded) ??
        html`
          <${ErrorNotice} error=${loaded.error} title="Not up to date" />
          <${Table} label="Connected clients" columns=${COLUMNS} rows=${clients}
            rowKey=${(/** @type {Client} */ one) => one.key}
            empty=${html`
              <p class="card-note muted">
                No client has called a method yet. A client appears here about a second after its first call.
              </p>
            `} />
        `
      }
    </${Card}>
  `;
}

/** @type {import('../../ui/table.js').Column<Client>[]} */
const COLUMNS = [
  {
    key: 'name',
    label: 'Client',
    cell: (client) => html`<span class="anywhere">${client.name}</span> <${Badge}>${client.kind}</${Badge}>`,
  },
  { key: 'calls', label: 'Calls', align: 'right', phone: 'line', cell: ({ calls }) => plural(calls, 'call') },
  {
    key: 'failed',
    label: 'Failed',
    align: 'right',
    phone: 'line-aside',
    cell: ({ failed }) =>
      failed > 0
        ? html`<span class="tone-bad chart-bad">${formatNumber(failed)} failed</span>`
        : html`<span class="muted">none failed</span>`,
  },
  {
    key: 'last',
    label: 'Last call',
    shrink: true,
    phone: 'aside',
    cell: ({ last }) => html`<${Time} value=${last} />`,
  },
];

/** @param {AbortSignal} signal @returns {Promise<{clients: Client[], hasMore: boolean}>} */
async function loadClients(signal) {
  const since = new Date(Date.now() - WEEK_MS).toISOString();
  const caller = me.value?.username;
  const [journal, tokens, grants] = await Promise.all([
    api.get('/api/calls', { via: 'mcp', caller, since, limit: READ_MAX }, { signal }),
    api.get('/api/tokens', { limit: NAMES_MAX }, { signal }),
    api.get('/api/oauth/grants', { limit: NAMES_MAX }, { signal }),
  ]);
  const names = new Map([
    ...tokens.tokens.map((/** @type {any} */ one) => [one.id, one.name]),
    ...grants.grants.map((/** @type {any} */ one) => [one.id, displayName(one.app.name)]),
  ]);
  return { clients: clientsOf(journal.calls, names), hasMore: journal.next_cursor !== null };
}

/**
 * @param {import('../calls/words.js').Call[]} calls newest first
 * @param {Map<string, string>} names of tokens and apps, by id
 * @returns {Client[]} the client with the newest call first
 */
export function clientsOf(calls, names) {
  /** @type {Map<string, Client>} */
  const found = new Map();
  for (const call of calls) {
    const { kind = 'unknown', id = null } = call.credential ?? {};
    const key = `${kind} ${id}`;
    const named = (id && names.get(id)) || (id ? 'revoked' : 'this interface');
    const client = found.get(key) ?? {
      key,
      kind: KINDS[kind] ?? kind,
      name: named,
      calls: 0,
      failed: 0,
      last: call.at,
    };
    client.calls += 1;
    if (isFailure(call)) client.failed += 1;
    found.set(key, client);
  }
  return [...found.values()];
}
