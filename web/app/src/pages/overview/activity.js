/** Recent activity: live events, and audit entries for users who may see them. */
import { briefJson } from '../../lib/json.js';
import { can } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Segmented } from '../../ui/field.js';
import { Time } from '../../ui/time.js';
import { useLiveEvents } from './live-events.js';

/** @import { AuditEntry } from 'api' */

const SHOWN = 12;
const AUDIT_EVERY_MS = 5_000;

export function ActivityCard() {
  const query = useQuery();
  const live = useLiveEvents(SHOWN);
  const audit = can('view_audit') && query.get('activity') === 'audit';
  const choice = html`
    <${Segmented} label="Activity" value=${audit ? 'audit' : 'events'}
      options=${[{ value: 'events', label: 'Events' }, { value: 'audit', label: 'Audit' }]}
      onInput=${(/** @type {string} */ value) => query.set({ activity: value === 'audit' ? value : null })} />
  `;
  return html`
    <${Card} title="Live activity" flush
      actions=${html`<${Liveness} state=${live.state} />${can('view_audit') && choice}`}>
      ${audit ? html`<${AuditList} />` : html`<${EventList} live=${live} />`}
      <p class="overview-more">
        <${Button} kind="ghost" size="small" icon="arrow-right" href=${audit ? '/audit' : '/events'}>
          ${audit ? 'Whole audit log' : 'All events'}
        </${Button}>
      </p>
    </${Card}>
  `;
}

/** @param {{state: import('../../lib/stream.js').StreamState}} props */
function Liveness({ state }) {
  if (state === 'open') return html`<${Status} tone="good" pulse>live</${Status}>`;
  if (state === 'connecting') return html`<${Status} tone="neutral">connecting</${Status}>`;
  return html`<${Status} tone="warn">${state === 'failed' ? 'not live' : 'reconnecting'}</${Status}>`;
}

/** @param {{live: ReturnType<typeof useLiveEvents>}} props */
function EventList({ live }) {
  const { events, error } = live;
  const emits = can('use_spaces', 'manage_spaces');
  if (events === null) return error ? html`<${ErrorNotice} error=${error} />` : html`<div class="loading-space"></div>`;
  if (events.length === 0) {
    return html`
      <${EmptyState} icon="activity" level=${3} title="Nothing happened yet"
        command=${emits ? `svc event build.done '{"commit":"4f2a"}'` : ''}>
        ${
          emits
            ? 'Starts and stops of spaces appear here, and events that you emit:'
            : 'Your events appear here at once.'
        }
      </${EmptyState}>
    `;
  }
  return html`
    <${ErrorNotice} error=${error} />
    <ol class="overview-list" aria-label="Latest events">
      ${events.map(
        (event) => html`
          <li key=${event.event_id} class="overview-row">
            <a class="mono anywhere" href=${`/events/${event.event_id}`}>${event.event_type}</a>
            <span class="muted small overview-when">${event.actor.username}, <${Time} value=${event.event_ts} /></span>
            <span class="mono small muted truncate">${briefJson(event.data)}</span>
          </li>
        `,
      )}
    </ol>
  `;
}

function AuditList() {
  const list = useList('/api/audit', 'audit', { query: { limit: SHOWN }, every: AUDIT_EVERY_MS });
  return (
    pendingOf(list) ??
    html`
      <${ErrorNotice} error=${list.error} />
      <ol class="overview-list" aria-label="Latest audit entries">
        ${(list.items ?? []).map(
          (/** @type {AuditEntry} */ entry) => html`
            <li key=${entry.id} class="overview-row">
              <span class="mono anywhere">${entry.action}</span>
              <span class="muted small overview-when">${entry.actor}, <${Time} value=${entry.at} /></span>
              <span class="mono small muted truncate">${briefJson(entry.detail)}</span>
            </li>
          `,
        )}
      </ol>
    `
  );
}
