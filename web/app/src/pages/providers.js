/** OpenID Connect providers that users sign in with, for administrators: add, change, test, delete. */
import { api, at } from '../lib/api.js';
import { formatNumber, plural } from '../lib/format.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { useQuery } from '../router.js';
import { Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Table } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { CheckDialog } from './providers/check.js';
import { ProviderDialog } from './providers/edit.js';

/** @import { OidcProvider } from 'api' */

/** @typedef {{what: 'edit' | 'check' | 'delete', provider: OidcProvider}} OpenState */

export default function ProvidersPage() {
  const query = useQuery();
  const list = useList('/api/oidc/providers', 'providers', { query: { limit: 100 }, every: 15_000 });
  const [open, setOpen] = useState(/** @type {OpenState | null} */ (null));
  const close = () => setOpen(null);
  const done = async () => {
    query.set({ new: null });
    close();
    await list.reload();
  };
  const remove = async (/** @type {OidcProvider} */ provider) => {
    await api.del(at('/api/oidc/providers/{id}', { id: provider.id }));
    await list.reload();
    toast(`${provider.label} deleted`);
  };
  const onAdd = () => query.set({ new: 1 });
  const add = html`<${Button} kind="primary" icon="plus" onClick=${onAdd}>Add provider</${Button}>`;
  return html`
    <${PageHeader} title="Sign-in providers" actions=${add}
      description="Users sign in with their account at an OpenID Connect provider, such as Keycloak or Entra." />
    <${Card} flush>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Sign-in providers" columns=${columns(setOpen)} rows=${list.items}
            empty=${html`
              <${EmptyState} icon="key" title="No providers yet">Users sign in with their passwords.</${EmptyState}>
            `} />
        `
      }
    </${Card}>
    ${
      (query.get('new') || open?.what === 'edit') &&
      html`
        <${ProviderDialog} provider=${open?.provider ?? null} onDone=${done}
          onClose=${() => {
            query.set({ new: null });
            close();
          }} />
      `
    }
    ${open?.what === 'check' && html`<${CheckDialog} provider=${open.provider} onClose=${close} />`}
    ${
      open?.what === 'delete' &&
      html`
        <${ConfirmDialog} title="Delete this provider?" action="Delete provider" onClose=${close}
          onConfirm=${() => remove(open.provider)}>
          <p>Nobody can sign in with <strong>${open.provider.label}</strong> any more.</p>
          <p>
            This unlinks ${plural(open.provider.identities, 'user')}. Sessions that were opened with this
            provider end. The groups and roles that the provider gave to users are removed.
          </p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {(open: OpenState) => void} setOpen @returns {import('../ui/table.js').Column<OidcProvider>[]} */
function columns(setOpen) {
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
    {
      key: 'actions',
      label: 'Actions',
      hideLabel: true,
      shrink: true,
      cell: (one) => html`
        <div class="row">
          ${
            /** @type {const} */ (['check', 'edit', 'delete']).map(
              (what) => html`
              <${Button} key=${what} size="small" aria-label=${`${WORDS[what]} ${one.label}`}
                onClick=${() => setOpen({ what, provider: one })}>${WORDS[what]}</${Button}>
            `,
            )
          }
        </div>
      `,
    },
  ];
}

const WORDS = { check: 'Test', edit: 'Edit', delete: 'Delete' };
