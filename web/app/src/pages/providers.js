/** OpenID Connect providers that users sign in with, for administrators: add, change, test, delete. */
import { at } from '../lib/api.js';
import { formatNumber, plural } from '../lib/format.js';
import { html } from '../lib/preact.js';
import { Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { DeleteDialog, RecordPage } from '../ui/record-page.js';
import { actionsColumn } from '../ui/table.js';
import { CheckDialog } from './providers/check.js';
import { ProviderDialog } from './providers/edit.js';

/** @import { OidcProvider } from 'api' */

export default function ProvidersPage() {
  return html`
    <${RecordPage} path="/api/oidc/providers" name="providers" kind="provider" limit=${100} every=${15_000}
      title="Sign-in providers" add="Add provider" form=${ProviderDialog} choosable=${false}
      description="Users sign in with their account at an OpenID Connect provider, such as Keycloak or Entra."
      dialogs=${{ check: CheckDialog, edit: ProviderDialog, delete: DeleteProvider }} columns=${columns}
      empty=${() => html`
        <${EmptyState} icon="key" title="No providers yet">Users sign in with their passwords.</${EmptyState}>
      `} />
  `;
}

/** @param {import('../ui/record-page.js').About<OidcProvider>} about */
function DeleteProvider(about) {
  const { id, label, identities } = about.record;
  return html`
    <${DeleteDialog} about=${about} path=${at('/api/oidc/providers/{id}', { id })} title="Delete this provider?"
      action="Delete provider" said=${`${label} deleted`}>
      <p>Nobody can sign in with <strong>${label}</strong> any more.</p>
      <p>
        This unlinks ${plural(identities, 'user')}. Sessions that were opened with this
        provider end. The groups and roles that the provider gave to users are removed.
      </p>
    </${DeleteDialog}>
  `;
}

/**
 * @param {(dialog: string, provider: OidcProvider) => void} ask
 * @returns {import('../ui/table.js').Column<OidcProvider>[]}
 */
function columns(ask) {
  return [
    {
      key: 'name',
      label: 'Provider',
      cell: (one) => html`
        <div class="strong">${one.label}</div>
        <div class="muted small mono anywhere">${one.issuer}</div>
      `,
    },
    { key: 'identities', label: 'Users', align: 'right', shrink: true, cell: (one) => formatNumber(one.identities) },
    {
      key: 'enabled',
      label: 'Status',
      shrink: true,
      cell: (one) => html`<${Status} tone=${one.enabled ? 'good' : 'bad'}>${one.enabled ? 'on' : 'off'}</${Status}>`,
    },
    actionsColumn(
      (one) => html`
        <div class="row">
          ${Object.entries({ check: 'Test', edit: 'Edit', delete: 'Delete' }).map(
            ([what, word]) => html`
              <${Button} key=${what} size="small" aria-label=${`${word} ${one.label}`}
                onClick=${() => ask(what, one)}>${word}</${Button}>
            `,
          )}
        </div>
      `,
    ),
  ];
}
