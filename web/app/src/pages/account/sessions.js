/** The sessions of a user. */
import { api, at } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { ErrorNotice, pendingOf } from '../../ui/error-notice.js';
import { Pagination, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { toast } from '../../ui/toasts.js';

/** @import { Session } from 'api' */

/** @param {{user?: {id: string, username: string}}} props without `user`, the card shows the signed-in user */
export function SessionsCard({ user }) {
  const list = useList('/api/auth/sessions', 'sessions', { query: user ? { user: user.id } : {}, every: 15_000 });
  const [asking, setAsking] = useState(false);
  const [ending, setEnding] = useState(/** @type {Session | null} */ (null));
  const others = (list.items ?? []).filter((one) => !one.current).length;
  /** @type {import('../../ui/table.js').Column<Session>[]} */
  const columns = [
    {
      key: 'browser',
      label: 'Browser',
      cell: (one) =>
        html`
          <span title=${one.user_agent}>${browserOf(one.user_agent)}</span> ${
            one.current &&
            html`
              <${Badge} tone="accent">this one</${Badge}>
            `
          }
        `,
    },
    { key: 'address', label: 'Address', mono: true },
    { key: 'created_at', label: 'Signed in', cell: (one) => html`<${Time} value=${one.created_at} />` },
    {
      key: 'last_used_at',
      label: 'Last used',
      cell: (one) => html`<${Time} value=${one.last_used_at} none="never" />`,
    },
    { key: 'expires_at', label: 'Ends', cell: (one) => html`<${Time} value=${one.expires_at} />` },
    {
      key: 'actions',
      label: 'Actions',
      hideLabel: true,
      shrink: true,
      cell: (one) => !one.current && html`<${Button} size="small" onClick=${() => setEnding(one)}>End</${Button}>`,
    },
  ];
  return html`
    <${Card} title="Sessions" id="sessions" flush
      description=${`Browsers that are signed in as ${user ? user.username : 'you'}.`}
      actions=${!user && others > 0 && html`<${Button} onClick=${() => setAsking(true)}>End all others</${Button}>`}>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Sessions" columns=${columns} rows=${list.items}
            empty=${html`<p class="card-note muted">No browser is signed in.</p>`} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      ending &&
      html`
        <${ConfirmDialog} title="End this session?" action="End session" onClose=${() => setEnding(null)}
          onConfirm=${() => endSessions(at('/api/auth/sessions/{id}', { id: ending.id }), list, 'Session ended')}>
          <p>${browserOf(ending.user_agent)} at <span class="mono">${ending.address}</span> has to sign in again.</p>
        </${ConfirmDialog}>
      `
    }
    ${
      asking &&
      html`
        <${ConfirmDialog} title="End all other sessions?" action="End sessions" onClose=${() => setAsking(false)}
          onConfirm=${() => endSessions('/api/auth/sessions', list, 'Sessions ended')}>
          <p>Every browser but this one has to sign in again.</p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {Parameters<typeof api.del>[0]} path @param {{reload: () => Promise<void>}} list @param {string} message */
async function endSessions(path, list, message) {
  await api.del(path);
  await list.reload();
  toast(message);
}

/** A short name for a browser; the title shows the whole user agent. @param {string} agent */
function browserOf(agent) {
  const known = [
    ['Edg/', 'Edge'],
    ['Firefox/', 'Firefox'],
    ['Chrom', 'Chrome'],
    ['Safari/', 'Safari'],
    ['curl/', 'curl'],
  ];
  const system = ['Windows', 'Android', 'iPhone', 'Mac OS X', 'Linux'].find((name) => agent.includes(name));
  const browser = known.find(([mark]) => agent.includes(mark))?.[1] ?? (agent.slice(0, 40) || 'unknown');
  return system ? `${browser} on ${system.replace(' OS X', '')}` : browser;
}
