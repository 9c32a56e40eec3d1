/** Groups, to which shared methods can be limited. */
import { api, at } from '../lib/api.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { PageHeader } from '../ui/card.js';
import { Dialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { NoMatch, RecordList, searchOf } from '../ui/record-page.js';
import { actionsColumn, timeColumn } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { DeleteGroup } from './groups/delete.js';
import { Members } from './groups/members.js';
import { useUsers } from './users/directory.js';
import { NameHint, Names } from './users/fields.js';

/** @import { Group, User } from 'api' */

await loadStyles('users.css');

/** @typedef {{what: 'new' | 'rename' | 'delete', group: Group | null}} OpenDialogState */

/** The maximum number of names in a row of the table. For further names, the row shows only their number. */
const NAMES_SHOWN = 8;

export default function GroupsPage() {
  const query = useQuery();
  const list = useList('/api/groups', 'groups', { query: { limit: 1_000 }, every: 10_000 });
  const users = useUsers();
  const [open, setOpen] = useState(/** @type {OpenDialogState | null} */ (null));
  const text = query.get('q').trim().toLowerCase();
  const groups = list.items ?? [];
  const rows = groups.filter((one) => one.name.toLowerCase().includes(text));
  const shown = groups.find((one) => one.id === query.get('members'));
  const changed = () => Promise.all([list.reload(), users.reload()]);
  return html`
    <${PageHeader} title="Groups"
      description="A shared method can be limited to groups: only their members see and call it."
      actions=${html`
        <${Button} kind="primary" icon="plus" onClick=${() => setOpen({ what: 'new', group: null })}>
          New group
        </${Button}>
      `} />
    ${searchOf('groups')(groups)}
    <${RecordList} list=${list} label="Groups" columns=${columnsOf(users.items, setOpen)} rows=${rows}
      empty=${html`<${NoGroups} filtered=${Boolean(text)} />`} />
    ${
      open?.what === 'delete' &&
      open.group &&
      html`
        <${DeleteGroup} group=${open.group} members=${users.items?.filter(inGroup(open.group))} onDone=${changed}
          onClose=${() => setOpen(null)} />
      `
    }
    ${
      open &&
      open.what !== 'delete' &&
      html`<${NameGroup} group=${open.group} onDone=${changed} onClose=${() => setOpen(null)} />`
    }
    ${
      shown &&
      users.items &&
      html`
        <${Members} key=${shown.id} group=${shown} users=${users.items} onDone=${changed}
          onClose=${() => query.set({ members: null })} />
      `
    }
  `;
}

/** @param {Group} group */
const inGroup = (group) => (/** @type {User} */ user) => user.groups.includes(group.name);

/**
 * @param {User[] | null} users null without the permission to see them, and before they
 *   are loaded
 * @param {(open: OpenDialogState) => void} setOpen
 * @returns {import('../ui/table.js').Column<Group>[]}
 */
function columnsOf(users, setOpen) {
  const membersOf = (/** @type {Group} */ group) => (users ?? []).filter(inGroup(group)).map((user) => user.username);
  /** @type {import('../ui/table.js').Column<Group>} */
  const members = {
    key: 'members',
    label: 'Members',
    phone: 'line',
    cell: (group) => html`<${MemberNames} names=${membersOf(group)} />`,
  };
  return [
    { key: 'name', label: 'Name', sort: true, cell: (group) => html`<span class="mono strong">${group.name}</span>` },
    ...(users ? [members] : []),
    timeColumn('created_at', 'Created', { shrink: true, phone: 'aside' }),
    actionsColumn((group) => html`<${RowActions} group=${group} members=${users !== null} setOpen=${setOpen} />`),
  ];
}

/** @param {{names: string[]}} props */
function MemberNames({ names }) {
  const rest = names.length - NAMES_SHOWN;
  return html`
    <div class="row">
      <${Names} names=${names.slice(0, NAMES_SHOWN)} none="nobody" />
      ${rest > 0 && html`<span class="muted small">and ${rest} more</span>`}
    </div>
  `;
}

/** @param {{group: Group, members: boolean, setOpen: (open: OpenDialogState) => void}} props */
function RowActions({ group, members, setOpen }) {
  const query = useQuery();
  return html`
    <span class="row-actions">
      ${
        members &&
        html`
          <${Button} size="small" aria-label=${`Members of ${group.name}`}
            onClick=${() => query.set({ members: group.id })}>
            Members
          </${Button}>
        `
      }
      <${Button} size="small" aria-label=${`Rename ${group.name}`} onClick=${() => setOpen({ what: 'rename', group })}>
        Rename
      </${Button}>
      <${Button} size="small" aria-label=${`Delete ${group.name}`} onClick=${() => setOpen({ what: 'delete', group })}>
        Delete
      </${Button}>
    </span>
  `;
}

/** @param {{filtered: boolean}} props */
function NoGroups({ filtered }) {
  if (filtered) return html`<${NoMatch} one="group" />`;
  return html`
    <${EmptyState} icon="layers" title="No groups yet" command="svc group create ops">
      Create one here or with the command line. Then add users and name the group in <code>groups</code> of a shared
      method.
    </${EmptyState}>
  `;
}

/**
 * Creates or renames a group.
 * @param {{group: Group | null, onDone: () => Promise<any>, onClose: () => void}} props
 */
function NameGroup({ group, onDone, onClose }) {
  const [name, setName] = useState(group?.name ?? '');
  const submit = async () => {
    if (group) await api.patch(at('/api/groups/{id}', { id: group.id }), { name: name.trim() });
    else await api.post('/api/groups', { name: name.trim() });
    await onDone();
    toast(group ? 'Group renamed' : `Group ${name.trim()} created`);
    onClose();
  };
  return html`
    <${Dialog} title=${group ? `Rename ${group.name}` : 'New group'} onClose=${onClose}>
      <${Form} submit=${group ? 'Rename group' : 'Create group'} onSubmit=${submit} onCancel=${onClose}>
        <${TextInput} label="Group name" mono required maxlength="64" value=${name} onInput=${setName}
          autocomplete="off"
          hint=${
            group ? 'Registrations that name the group by its old name are not changed.' : html`<${NameHint} />`
          } />
      </${Form}>
    </${Dialog}>
  `;
}
