/** Roles and their permissions, as a matrix. */
import { useAction } from '../lib/action.js';
import { api, at } from '../lib/api.js';
import { anyChange, changesBetween, withChanges, withoutSaved } from '../lib/changes.js';
import { plural } from '../lib/format.js';
import { loadMe } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { useList, useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery, useUnsaved } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, messageOf, pendingOf } from '../ui/error-notice.js';
import { QuerySearch } from '../ui/filters.js';
import { Pagination } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { Matrix } from './roles/matrix.js';
import { NewRole, RenameRole } from './roles/name-role.js';
import { useUsers } from './users/directory.js';

/** @import { Role } from 'api' */

await Promise.all([loadStyles('users.css'), loadStyles('roles.css')]);

/** @typedef {{what: 'new' | 'rename' | 'delete', role: Role | null}} OpenDialogState */

export default function RolesPage() {
  const query = useQuery();
  const list = useList('/api/roles', 'roles', { query: { limit: 1_000 }, every: 10_000 });
  const known = useResource('/api/permissions');
  const users = useUsers().items;
  const [open, setOpen] = useState(/** @type {OpenDialogState | null} */ (null));
  const edit = useEdits(list.items ?? [], list.reload);
  const text = query.get('q').trim().toLowerCase();
  const roles = (list.items ?? []).filter((role) => role.name.toLowerCase().includes(text));
  const membersOf =
    users && ((/** @type {Role} */ role) => users.filter((user) => user.roles.includes(role.name)).length);
  const close = () => setOpen(null);
  return html`
    <${PageHeader} title="Roles"
      description="A user has the permissions of all their roles. The permissions of built-in roles cannot be changed."
      actions=${html`
        <${Button} kind="primary" icon="plus" onClick=${() => setOpen({ what: 'new', role: null })}>New role</${Button}>
      `} />
    <div class="toolbar">
      <${QuerySearch} label="Search roles" />
    </div>
    <${Card} flush>
      ${
        pendingOf(list) ??
        pendingOf(known) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          ${
            roles.length
              ? html`
                <${Matrix} roles=${roles} permissions=${known.data?.permissions} edits=${edit.edits}
                  onToggle=${edit.toggle} membersOf=${membersOf}
                  onRequire=${(/** @type {Role} */ role, /** @type {boolean} */ on) => requireFactor(role, on, list)}
                  onRename=${(/** @type {Role} */ role) => setOpen({ what: 'rename', role })}
                  onDelete=${(/** @type {Role} */ role) => setOpen({ what: 'delete', role })} />
              `
              : html`
                <${EmptyState} icon="shield" title="No role matches"
                  command="svc role create caller --permission use_methods,use_mcp"
                  action=${html`<${Button} onClick=${() => query.set({ q: null })}>Clear the search</${Button}>`} />
              `
          }
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    <${SaveBar} edit=${edit} />
    ${
      open?.what === 'new' &&
      html`<${NewRole} permissions=${known.data?.permissions ?? []} onDone=${list.reload} onClose=${close} />`
    }
    ${
      open?.what === 'rename' &&
      open.role &&
      html`<${RenameRole} role=${open.role} onDone=${list.reload} onClose=${close} />`
    }
    ${
      open?.what === 'delete' &&
      open.role &&
      html`<${DeleteRole} role=${open.role} members=${membersOf?.(open.role)} onDone=${list.reload} onClose=${close} />`
    }
  `;
}

/** @param {Role} role @param {boolean} required @param {{reload: () => Promise<void>}} list */
async function requireFactor(role, required, list) {
  try {
    await api.patch(at('/api/roles/{id}', { id: role.id }), { require_second_factor: required });
    toast(required ? `${role.name} requires a second factor` : `${role.name} requires no second factor`);
  } catch (error) {
    toast(messageOf(error), { kind: 'error' });
  }
  await list.reload();
}

/** @typedef {import('../lib/changes.js').Changes} Changes */

/**
 * Unsaved ticks, by role.
 * @param {Role[]} roles
 * @param {() => Promise<void>} reload
 */
function useEdits(roles, reload) {
  const [edits, setEdits] = useState(/** @type {Record<string, Changes>} */ ({}));
  const changed = roles.filter((role) => anyChange(role.permissions, edits[role.id]));
  useUnsaved(changed.length > 0);
  const toggle = (/** @type {Role} */ role, /** @type {string} */ permission, /** @type {boolean} */ on) => {
    const now = withChanges(role.permissions, { ...edits[role.id], [permission]: on });
    setEdits({ ...edits, [role.id]: changesBetween(role.permissions, now) });
  };
  const save = useAction(async () => {
    try {
      for (const role of changed) {
        await savePermissions(role.id, edits[role.id]);
        setEdits((now) => ({ ...now, [role.id]: withoutSaved(now[role.id], edits[role.id]) }));
      }
    } finally {
      await reload();
    }
    toast('Permissions saved');
    // The user's own roles may have changed.
    await loadMe();
  });
  const discard = () => {
    setEdits({});
    save.clear();
  };
  return { edits, changed, toggle, save, discard };
}

/**
 * The API replaces all permissions of a role, so the current ones are read first.
 * @param {string} id
 * @param {Changes} changes
 */
async function savePermissions(id, changes) {
  const path = at('/api/roles/{id}', { id });
  const { permissions } = await api.get(path);
  if (anyChange(permissions, changes)) await api.patch(path, { permissions: withChanges(permissions, changes) });
}

/** @param {{edit: ReturnType<typeof useEdits>}} props */
function SaveBar({ edit }) {
  const { changed, save, discard } = edit;
  if (changed.length === 0 && !save.error) return null;
  return html`
    <div class="save-bar" role="group" aria-label="Unsaved permissions">
      <${ErrorNotice} error=${save.error} />
      <div class="row">
        <${Button} kind="primary" busy=${save.busy} onClick=${save.run}>Save permissions</${Button}>
        <${Button} onClick=${discard}>Discard changes</${Button}>
        <p role="status">
          Unsaved changes
          in ${plural(changed.length, 'role')}: <span class="mono">${changed.map((role) => role.name).join(', ')}</span>
        </p>
      </div>
    </div>
  `;
}

/** @param {{role: Role, members: number | undefined, onDone: () => Promise<void>, onClose: () => void}} props */
function DeleteRole({ role, members, onDone, onClose }) {
  const remove = async () => {
    await api.del(at('/api/roles/{id}', { id: role.id }));
    await onDone();
    toast(`Role ${role.name} deleted`);
    await loadMe();
  };
  const who =
    members === undefined
      ? 'Users with this role lose'
      : `${plural(members, 'user')} ${members === 1 ? 'loses' : 'lose'}`;
  return html`
    <${ConfirmDialog} title=${`Delete ${role.name}?`} action="Delete role" onConfirm=${remove} onClose=${onClose}>
      <p>${members === 0 ? 'No user has this role.' : `${who} the permissions that only this role gives, at once.`}</p>
    </${ConfirmDialog}>
  `;
}
