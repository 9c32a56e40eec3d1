/** The filters of the audit log, stored in the query string. */

import { useDebounced } from '../../lib/debounced.js';
import { localTime, utcTime } from '../../lib/format.js';
import { html, useId } from '../../lib/preact.js';
import { useQuery } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Select, TextInput } from '../../ui/field.js';

export const FILTERS = ['actor', 'action', 'target_type', 'target_id', 'range', 'since', 'until'];

/** Suggestions: the server compares whole words. Any other word can be typed. */
const ACTIONS = [
  'agent_token.rotated',
  'event_sink.created',
  'event_sink.dead',
  'event_sink.deleted',
  'event_sink.disabled',
  'event_sink.dropped',
  'event_sink.enabled',
  'event_sink.replayed',
  'event_sink.resent',
  'event_sink.secret_rotated',
  'event_sink.tested',
  'event_sink.updated',
  'event_sink.withheld',
  'group.created',
  'group.deleted',
  'group.updated',
  'identity.linked',
  'identity.unlinked',
  'login.failed',
  'login.oidc',
  'logout.oidc',
  'oauth.client_blocked',
  'oauth.client_created',
  'oauth.client_deleted',
  'oauth.client_registered',
  'oauth.client_unblocked',
  'oauth.code_reused',
  'oauth.denied',
  'oauth.granted',
  'oauth.refresh_reused',
  'oauth.revoked',
  'oidc.provider_created',
  'oidc.provider_deleted',
  'oidc.provider_updated',
  'role.created',
  'role.deleted',
  'role.updated',
  'script.created',
  'script.deleted',
  'script.updated',
  'session.created',
  'session.deleted',
  'space.created',
  'space.deleted',
  'space.started',
  'space.stopped',
  'space.updated',
  'template.created',
  'template.deleted',
  'template.updated',
  'token.created',
  'token.revoked',
  'user.activated',
  'user.created',
  'user.deactivated',
  'user.deleted',
  'user.password_changed',
  'user.updated',
];
const TARGET_TYPES = [
  'event_sink',
  'group',
  'method_subscription',
  'oauth_client',
  'oauth_grant',
  'oidc_provider',
  'role',
  'script',
  'session',
  'space',
  'template',
  'token',
  'user',
];

export const RANGES = /** @type {[string, string, number][]} */ ([
  ['1h', 'Last hour', 3_600_000],
  ['24h', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 604_800_000],
  ['30d', 'Last 30 days', 2_592_000_000],
]);

/**
 * The time range of the request.
 * @param {Record<string, string>} asked
 * @returns {{since?: string, until?: string}}
 */
export function rangeOf({ range, since, until }) {
  const known = RANGES.find(([name]) => name === range);
  if (known) return { since: new Date(Date.now() - known[2]).toISOString() };
  return { since: utcTime(since), until: utcTime(until) };
}

/** @param {{onClear: (() => void) | null}} props */
export function Filters({ onClear }) {
  const query = useQuery();
  const own = query.get('range') === 'own' || Boolean(query.get('since') || query.get('until'));
  const setRange = (/** @type {string} */ range) => query.set({ range, since: null, until: null });
  return html`
    <div class="audit-filters" role="search" aria-label="Filters">
      <${Word} name="actor" label="Actor" />
      <${Word} name="action" label="Action" words=${ACTIONS} />
      <${Select} label="Target type" value=${query.get('target_type')}
        onInput=${(/** @type {string} */ value) => query.set({ target_type: value })}
        options=${[{ value: '', label: 'Any' }, ...withCurrent(TARGET_TYPES, query.get('target_type'))]} />
      <${Word} name="target_id" label="Target id" />
      <${Select} label="Time range" value=${own ? 'own' : query.get('range')} onInput=${setRange}
        options=${[
          { value: '', label: 'Any time' },
          ...RANGES.map(([value, label]) => ({ value, label })),
          { value: 'own', label: 'From … to …' },
        ]} />
      ${own && html`<${Moment} name="since" label="From" /><${Moment} name="until" label="To" />`}
      ${onClear && html`<${Button} kind="ghost" class="audit-clear" onClick=${onClear}>Clear filters</${Button}>`}
    </div>
  `;
}

/** @param {string[]} words @param {string} current */
const withCurrent = (words, current) => (current && !words.includes(current) ? [...words, current] : words);

/** @param {{name: string, label: string, words?: string[]}} props */
function Word({ name, label, words }) {
  const query = useQuery();
  const id = useId();
  const [text, setText] = useDebounced(query.get(name), (value) => query.set({ [name]: value.trim() }));
  return html`
    <div>
      <${TextInput} label=${label} mono value=${text} onInput=${setText} placeholder="Any" autocomplete="off"
        list=${words ? id : undefined} />
      ${words && html`<datalist id=${id}>${words.map((word) => html`<option key=${word} value=${word} />`)}</datalist>`}
    </div>
  `;
}

/** @param {{name: 'since' | 'until', label: string}} props */
export function Moment({ name, label }) {
  const query = useQuery();
  const set = (/** @type {string} */ local) => query.set({ range: 'own', [name]: utcTime(local) });
  return html`
    <${TextInput} label=${label} type="datetime-local" value=${localTime(query.get(name), 'minutes')} onInput=${set} />
  `;
}
