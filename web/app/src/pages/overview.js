/** The overview: what fails, spaces and methods, calls, recent events. */
import { acceptAlerts } from '../lib/alerts.js';
import { withQuery } from '../lib/api.js';
import { formatNumber, plural } from '../lib/format.js';
import { can } from '../lib/me.js';
import { html, useEffect } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { PageHeader, Stat } from '../ui/card.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Segmented } from '../ui/field.js';
import { RangeCharts } from './charts/range-charts.js';
import { ActivityCard } from './overview/activity.js';
import { anyFailing, FailingCard } from './overview/failing.js';
import { GettingStarted, useGettingStarted } from './overview/getting-started.js';

/** @import { Stats } from 'api' */

await loadStyles('overview.css');

const EVERY_MS = 5_000;

export default function OverviewPage() {
  const query = useQuery();
  const mayViewServer = can('view_audit');
  const server = mayViewServer && query.get('scope') !== 'mine';
  const stats = useResource(withQuery('/api/stats', { scope: server ? 'server' : null }), { every: EVERY_MS });
  const start = useGettingStarted(stats.data);
  useEffect(() => {
    if (stats.data) acceptAlerts(stats.data);
  }, [stats.data]);
  const scopes = [
    { value: 'server', label: 'Everybody’s' },
    { value: 'mine', label: 'Mine' },
  ];
  return html`
    <${PageHeader} title="Overview" actions=${html`
      ${start.hidden && html`<${Button} kind="ghost" onClick=${start.show}>Getting started</${Button}>`}
      ${
        mayViewServer &&
        html`
          <${Segmented} label="Whose calls" value=${server ? 'server' : 'mine'} options=${scopes}
            onInput=${(/** @type {string} */ value) => query.set({ scope: value === 'mine' ? value : null })} />
        `
      }
    `} />
    ${
      pendingOf(stats, { page: true }) ??
      html`
        <div class="stack-large">
          <${ErrorNotice} error=${stats.error} title="These numbers are outdated" onRetry=${stats.reload} />
          ${anyFailing() && html`<${FailingCard} stats=${stats.data} />`}
          ${!start.hidden && html`<${GettingStarted} start=${start} />`}
          <${Counts} stats=${/** @type {Stats} */ (stats.data)} />
          <${RangeCharts} one="call"
            path=${withQuery('/api/stats/calls', { scope: server ? 'server' : null })}
            every=${EVERY_MS} />
          <${Rest} stats=${/** @type {Stats} */ (stats.data)} />
        </div>
      `
    }
  `;
}

/**
 * The last part. What fails is at the top of the page, so only its absence is shown here.
 * @param {{stats: Stats}} props
 */
function Rest({ stats }) {
  const shows = !anyFailing() && (stats.sinks || stats.spaces);
  return html`
    <div class=${shows ? 'overview-main' : ''}>
      ${shows && html`<${FailingCard} stats=${stats} />`}
      <${ActivityCard} />
    </div>
  `;
}

/** @param {{stats: Stats}} props */
function Counts({ stats }) {
  const { spaces, sinks } = stats;
  const calls = stats.minutes.reduce((sum, minute) => sum + minute.calls, 0);
  const errors = stats.minutes.reduce((sum, minute) => sum + minute.errors, 0);
  const hints = [
    stats.calls_in_flight ? `${formatNumber(stats.calls_in_flight)} in flight` : '',
    errors ? `${formatNumber(errors)} failed` : 'none failed',
  ];
  return html`
    <div class="stats overview-counts">
      ${
        spaces &&
        html`
          <${Stat} label="Spaces running" href="/spaces" value=${formatNumber(spaces.deployed)}
            hint=${restOf(spaces)}>
            ${
              (spaces.failing_total ?? 0) > 0 &&
              html`<span class="stat-bad">${formatNumber(spaces.failing_total ?? 0)} failing</span>`
            }
          </${Stat}>
        `
      }
      <${Stat} label="Methods" href="/methods" value=${formatNumber(stats.methods)}
        hint=${`from ${plural(stats.providers, 'space')}`} />
      <${Stat} label="Calls, last hour" href="/calls?range=1h" value=${formatNumber(calls)}
        hint=${calls ? hints.filter(Boolean).join(', ') : 'none yet'} />
      <${Stat} label="Events, last hour" href="/events" value=${formatNumber(stats.events_last_hour)}
        hint=${stats.events_last_hour >= 10_000 ? 'or more' : 'system and custom'} />
      ${
        sinks &&
        html`
          <${Stat} label="Sinks active" href="/sinks" value=${formatNumber(sinks.active)} hint=${sinkHint(sinks)}>
            ${sinks.paused > 0 && html`<span class="stat-bad">${formatNumber(sinks.paused)} paused</span>`}
            ${sinks.lost > 0 && html`<span class="stat-bad">${formatNumber(sinks.lost)} dropped</span>`}
          </${Stat}>
        `
      }
    </div>
  `;
}

/** @param {NonNullable<Stats['spaces']>} spaces */
function restOf({ created, stopped }) {
  const rest = [
    created && `${formatNumber(created)} not started`,
    stopped && `${formatNumber(stopped)} stopped`,
  ].filter(Boolean);
  return rest.join(', ') || 'none stopped';
}

/** @param {NonNullable<Stats['sinks']>} sinks */
function sinkHint({ total, active, paused, queued }) {
  const off = total - active - paused;
  const parts = [off > 0 && `${formatNumber(off)} off`, `${formatNumber(queued)} queued`];
  return parts.filter(Boolean).join(', ');
}
