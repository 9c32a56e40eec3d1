/** The filters of the audit log, stored in the query string. */

import { html } from '../../lib/preact.js';
import { Choice, FilterBar, RANGE_FILTERS, TimeRange, Word } from '../live-list/filters.js';

export const FILTERS = ['actor', 'action', 'target_type', 'target_id', ...RANGE_FILTERS];

/** Suggestions for the action. The user can also type another action; the server compares the whole name. */
const ACTIONS = [
  'agent_token.revoked',
  'agent_token.rotated',
  'event_sink.created',
  'event_sink.dead',
  'event_sink.deleted',
  'event_sink.disabled',
  'event_sink.dropped',
  'event_sink.enabled',
  'event_sink.lost',
  'event_sink.paused',
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
  'method_subscription.removed',
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
  'schedule.created',
  'schedule.deleted',
  'schedule.updated',
  'script.created',
  'script.deleted',
  'script.updated',
  'second_factor.added',
  'second_factor.counter_went_back',
  'second_factor.failed',
  'second_factor.recovery_code_used',
  'second_factor.recovery_codes_renewed',
  'second_factor.removed',
  'second_factor.renamed',
  'second_factor.reset',
  'session.created',
  'session.deleted',
  'source.created',
  'source.deleted',
  'source.secret_rotated',
  'source.updated',
  'source.url_rotated',
  'space.created',
  'space.deleted',
  'space.health_check_ended',
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
  'schedule',
  'script',
  'session',
  'source',
  'space',
  'template',
  'token',
  'user',
];

export function Filters() {
  return html`
    <${FilterBar} label="Filters" names=${FILTERS}>
      <${Word} name="actor" label="Actor" />
      <${Word} name="action" label="Action" words=${ACTIONS} />
      <${Choice} name="target_type" label="Target type" options=${TARGET_TYPES} />
      <${Word} name="target_id" label="Target id" />
      <${TimeRange} />
    </${FilterBar}>
  `;
}
