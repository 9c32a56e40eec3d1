/** The sessions of a user. */
import { at } from '../../lib/api.js';
import { html, useState } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { DeleteDialog, RecordList } from '../../ui/record-page.js';
import { actionsColumn } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

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
    actionsColumn(
      (one) => !one.current && html`<${Button} size="small" onClick=${() => setEnding(one)}>End</${Button}>`,
    ),
  ];
  return html`
    <${RecordList} list=${list} title="Sessions" id="sessions" label="Sessions" columns=${columns}
      description=${`Browsers that are signed in as ${user ? user.username : 'you'}.`}
      actions=${!user && others > 0 && html`<${Button} onClick=${() => setAsking(true)}>End all others</${Button}>`}
      empty=${html`<p class="card-note muted">No browser is signed in.</p>`} />
    ${
      ending &&
      html`
        <${DeleteDialog} title="End this session?" action="End session" said="Session ended"
          path=${at('/api/auth/sessions/{id}', { id: ending.id })}
          about=${{ onClose: () => setEnding(null), onChanged: list.reload }}>
          <p>${browserOf(ending.user_agent)} at <span class="mono">${ending.address}</span> has to sign in again.</p>
        </${DeleteDialog}>
      `
    }
    ${
      asking &&
      html`
        <${DeleteDialog} title="End all other sessions?" action="End sessions" said="Sessions ended"
          path="/api/auth/sessions" about=${{ onClose: () => setAsking(false), onChanged: list.reload }}>
          <p>Every browser but this one has to sign in again.</p>
        </${DeleteDialog}>
      `
    }
  `;
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
