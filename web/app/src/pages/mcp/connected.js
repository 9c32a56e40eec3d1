/** The clients that called methods through MCP in the last 7 days: with which credential, and how often. */
import { api, urlOf } from '../../lib/api.js';
import { can, me } from '../../lib/me.js';
import { displayName } from '../../lib/oauth.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { RecordList } from '../../ui/record-page.js';
import { COUNT_COLUMNS, callerName, missingWords } from '../calls/groups.js';
import { credentialWords } from '../calls/summary.js';

/** @import { CallGroup } from 'api' */

/** @typedef {CallGroup & {kind: string, name: string}} Client */

const WEEK_MS = 7 * 86_400_000;
const EVERY_MS = 15_000;
/** The maximum number of tokens, and of connected apps, whose names are loaded. */
const NAMES_MAX = 1_000;

export function ConnectedCard() {
  const seesAll = can('view_audit');
  const loaded = useResource((signal) => loadClients(signal, seesAll), { every: EVERY_MS, deps: [seesAll] });
  const { clients, missing } = loaded.data ?? { clients: [], missing: '' };
  const whose = seesAll
    ? 'Clients of all users that called methods through MCP in the last 7 days.'
    : 'Who called methods as you through MCP in the last 7 days.';
  return html`
    <${RecordList} list=${loaded} title="Connected clients" description=${`${whose} ${missing}`.trim()}
      actions=${html`<${Button} size="small" icon="arrow-right" href="/calls?via=mcp">All calls</${Button}>`}
      label="Connected clients" rows=${clients} rowKey=${keyOf}
      columns=${seesAll ? [CLIENT, USER, ...COUNT_COLUMNS] : [CLIENT, ...COUNT_COLUMNS]}
      empty=${html`
        <p class="card-note muted">
          No client has called a method yet. A client appears here about a second after its first call.
        </p>
      `} />
  `;
}

/** @type {import('../../ui/table.js').Column<Client>} */
const CLIENT = {
  key: 'name',
  label: 'Client',
  cell: ({ name, kind }) => html`<span class="anywhere">${name}</span> <${Badge}>${kind}</${Badge}>`,
};

/** The user, with a link to the user's calls. @type {import('../../ui/table.js').Column<Client>} */
const USER = {
  key: 'caller',
  label: 'User',
  phone: 'more',
  cell: (client) => {
    const calls = urlOf('/calls', { via: 'mcp', caller: client.caller ?? client.caller_id });
    return html`<a href=${calls}>${callerName(client)}</a>`;
  },
};

/** @param {Client} client */
const keyOf = ({ caller_id: caller, credential }) => `${caller} ${credential?.kind} ${credential?.id}`;

/**
 * @param {AbortSignal} signal
 * @param {boolean} seesAll
 * @returns {Promise<{clients: Client[], missing: string}>}
 */
async function loadClients(signal, seesAll) {
  const since = new Date(Date.now() - WEEK_MS).toISOString();
  const caller = seesAll ? undefined : me.value?.username;
  const [summary, tokens, grants] = await Promise.all([
    api.get('/api/calls/summary', { by: 'credential', via: 'mcp', caller, since }, { signal }),
    api.get('/api/tokens', { limit: NAMES_MAX }, { signal }),
    api.get('/api/oauth/grants', { limit: NAMES_MAX }, { signal }),
  ]);
  const names = new Map(tokens.tokens.map((one) => [one.id, one.name]));
  for (const one of grants.grants) names.set(one.id, displayName(one.app.name));
  return {
    clients: summary.groups.map((group) => ({ ...group, ...credentialWords(group, names, me.value?.id) })),
    missing: missingWords(summary, 'client'),
  };
}
