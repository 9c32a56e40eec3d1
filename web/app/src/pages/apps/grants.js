/** The apps that a user has connected, with "Disconnect". */
import { at } from '../../lib/api.js';
import { can } from '../../lib/me.js';
import { displayName } from '../../lib/oauth.js';
import { html, useState } from '../../lib/preact.js';
import { useList } from '../../lib/resource.js';
import { loadStyles } from '../../lib/styles.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { EmptyState } from '../../ui/empty-state.js';
import { DeleteDialog, RecordList } from '../../ui/record-page.js';
import { buttonColumn } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { AppCell, QuotedName } from './identity.js';

/** @import { Grant } from 'api' */

await loadStyles('apps.css');

/**
 * @param {{user?: {id: string, username: string}}} props without `user`, the card shows the apps of the signed-in user;
 *   only administrators see the apps of another user
 */
export function GrantsCard({ user }) {
  const list = useList('/api/oauth/grants', 'grants', { query: { user: user?.id }, every: 15_000 });
  const [ending, setEnding] = useState(/** @type {Grant | null} */ (null));
  return html`
    <${RecordList} list=${list} title="Connected apps" id="apps" label="Connected apps"
      description=${user ? `Apps that act as ${user.username}.` : 'Apps that you allowed to act as you.'}
      columns=${columns(setEnding)} empty=${html`<${Empty} user=${user} />`} />
    ${
      ending &&
      html`
        <${DeleteDialog} title="Disconnect this app?" action="Disconnect"
          path=${at('/api/oauth/grants/{id}', { id: ending.id })}
          said=${`${displayName(ending.app.name)} disconnected`}
          about=${{ onClose: () => setEnding(null), onChanged: list.reload }}>
          <p>
            <strong><${QuotedName} app=${ending.app} /></strong> is rejected from its next request on. To use it again,
            ${user ? html` <span class="mono">${user.username}</span> has` : ' you have'} to connect it again.
          </p>
        </${DeleteDialog}>
      `
    }
  `;
}

/** @param {(grant: Grant) => void} onDisconnect @returns {import('../../ui/table.js').Column<Grant>[]} */
function columns(onDisconnect) {
  return [
    { key: 'app', label: 'App', cell: (grant) => html`<${AppCell} app=${grant.app} />` },
    {
      key: 'scopes',
      label: 'Reaches',
      cell: ({ scopes }) =>
        html`<span class="row">${scopes.map((name) => html`<${Badge} key=${name} mono>${name}</${Badge}>`)}</span>`,
    },
    { key: 'redirect_host', label: 'Returned to', mono: true },
    { key: 'created_at', label: 'Connected', cell: (grant) => html`<${Time} value=${grant.created_at} />` },
    {
      key: 'last_used_at',
      label: 'Last used',
      cell: (grant) => html`<${Time} value=${grant.last_used_at} none="never" />`,
    },
    {
      key: 'expires_at',
      label: 'Ends if unused',
      cell: (grant) => html`<${Time} value=${grant.expires_at} none="never" />`,
    },
    buttonColumn('Disconnect', (grant) => displayName(grant.app.name), onDisconnect),
  ];
}

/** @param {{user?: {username: string}}} props */
function Empty({ user }) {
  if (user)
    return html`
      <${EmptyState} icon="plug" level=${3} title="No connected apps">
        <span class="mono">${user.username}</span> has not connected an app.
      </${EmptyState}>
    `;
  return html`
    <${EmptyState} icon="plug" level=${3} title="No connected apps"
      action=${can('use_mcp') && html`<${Button} href="/tools">How to connect an app</${Button}>`}>
      Apps such as Claude, Cursor and VS Code need only the address of this server. They ask you here before they act as
      you.
    </${EmptyState}>
  `;
}
