/** All users. */
import { api } from '../lib/api.js';
import { plural } from '../lib/format.js';
import { can, me } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { navigate, useQuery } from '../router.js';
import { Badge, Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { PageHeader } from '../ui/card.js';
import { Dialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { TextInput } from '../ui/field.js';
import { QuerySearch, QuerySelect } from '../ui/filters.js';
import { Form } from '../ui/form.js';
import { RecordList } from '../ui/record-page.js';
import { timeColumn } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toasts.js';
import { useNames, useUsers } from './users/directory.js';
import { Choice, Names, NewPassword } from './users/fields.js';

/** @import { User } from 'api' */

await loadStyles('users.css');

/** @type {import('../ui/table.js').Column<User>[]} */
const COLUMNS = [
  {
    key: 'username',
    label: 'Name',
    sort: (one) => one.username,
    cell: (one) =>
      html`
        <span class="mono">${one.username}</span>
        ${one.id === me.value?.id && html` <${Badge} tone="accent">you</${Badge}>`}
      `,
  },
  {
    key: 'active',
    label: 'Status',
    shrink: true,
    phone: 'aside',
    sort: (one) => (one.active ? 'active' : 'inactive'),
    cell: (one) =>
      html`<${Status} tone=${one.active ? 'good' : 'neutral'}>${one.active ? 'active' : 'inactive'}</${Status}>`,
  },
  {
    key: 'roles',
    label: 'Roles',
    phone: 'line',
    phoneLabel: true,
    sort: (one) => one.roles.join(' '),
    cell: (one) => html`<${Names} names=${one.roles} />`,
  },
  {
    key: 'groups',
    label: 'Groups',
    phone: 'more',
    phoneLabel: true,
    sort: (one) => one.groups.join(' '),
    cell: (one) => html`<${Names} names=${one.groups} />`,
  },
  {
    key: 'last_seen_at',
    label: 'Last seen',
    shrink: true,
    phone: 'line-aside',
    phoneLabel: true,
    sort: (one) => one.last_seen_at ?? '',
    cell: (one) => html`<${Time} value=${one.last_seen_at} none="never" />`,
  },
  timeColumn('created_at', 'Created', { shrink: true, phone: 'hidden' }),
];

export default function UsersPage() {
  const query = useQuery();
  const list = useUsers();
  const users = list.items ?? [];
  const roles = useNames('roles', users);
  const groups = useNames('groups', users);
  const [creating, setCreating] = useState(false);
  const rows = users.filter(matches(query.all));
  return html`
    <${PageHeader} title="Users" description="Who may sign in, and with which roles and groups."
      actions=${
        can('manage_users') &&
        html`<${Button} kind="primary" icon="plus" onClick=${() => setCreating(true)}>New user</${Button}>`
      } />
    <div class="toolbar">
      <${QuerySearch} label="Search users" />
      <${QuerySelect} label="Role" name="role" options=${[{ value: '', label: 'Every role' }, ...roles]} />
      <${QuerySelect} label="Group" name="group" options=${[{ value: '', label: 'Every group' }, ...groups]} />
      <${QuerySelect} label="Status" name="status"
        options=${[
          { value: '', label: 'Every status' },
          { value: 'active', label: 'Active' },
          { value: 'inactive', label: 'Inactive' },
        ]} />
      ${
        list.items &&
        html`
          <span class="muted small" role="status">${plural(rows.length, 'user')}${list.hasMore ? ' so far' : ''}</span>
        `
      }
    </div>
    <${RecordList} list=${list} label="Users" choosable="users" columns=${COLUMNS} rows=${rows}
      rowHref=${(/** @type {User} */ one) => `/users/${one.id}`} empty=${html`<${NoMatch} />`} />
    ${creating && html`<${NewUser} roles=${roles} groups=${groups} onClose=${() => setCreating(false)} />`}
  `;
}

/** @param {Record<string, string>} asked */
function matches({ q = '', role, group, status }) {
  const text = q.trim().toLowerCase();
  return (/** @type {User} */ user) =>
    user.username.toLowerCase().includes(text) &&
    (!role || user.roles.includes(role)) &&
    (!group || user.groups.includes(group)) &&
    (!status || user.active === (status === 'active'));
}

function NoMatch() {
  const query = useQuery();
  return html`
    <${EmptyState} icon="users" title="No user matches" command="svc user create ann --group ops"
      action=${html`
        <${Button} onClick=${() => query.set({ q: null, role: null, group: null, status: null })}>
          Clear filters
        </${Button}>
      `}>
      Change the filters, or create the user.
    </${EmptyState}>
  `;
}

/** @param {{roles: string[], groups: string[], onClose: () => void}} props */
function NewUser({ roles: allRoles, groups: allGroups, onClose }) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [shown, setShown] = useState(false);
  const [roles, setRoles] = useState(['user']);
  const [groups, setGroups] = useState(/** @type {string[]} */ ([]));
  const submit = async () => {
    const user = await api.post('/api/users', { username: username.trim(), password, roles, groups });
    toast(`User ${user.username} created`);
    onClose();
    navigate(`/users/${user.id}`);
  };
  const made = (/** @type {string} */ text) => {
    setPassword(text);
    setShown(true);
  };
  return html`
    <${Dialog} title="New user" onClose=${onClose} wide>
      <${Form} submit="Create user" onSubmit=${submit} onCancel=${onClose}>
        <${TextInput} label="User name" mono required maxlength="20" value=${username} onInput=${setUsername}
          autocomplete="off" hint="Lower-case letters, digits and single hyphens. It cannot be changed later." />
        <${NewPassword} value=${password} onInput=${setPassword} shown=${shown} onMade=${made} />
        <div class="columns">
          <${Choice} label="Roles" names=${allRoles} chosen=${roles} onChange=${setRoles} none="There are no roles." />
          <${Choice} label="Groups" names=${allGroups} chosen=${groups} onChange=${setGroups}
            none="There are no groups yet." />
        </div>
      </${Form}>
    </${Dialog}>
  `;
}
