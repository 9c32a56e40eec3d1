/** The members of a group. One button saves all changes. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { plural } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { Drawer } from '../../ui/dialog.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Checkbox, TextInput } from '../../ui/field.js';
import { toast } from '../../ui/toasts.js';

/** @import { User } from 'api' */

/**
 * @param {{group: {id: string, name: string}, users: User[], onDone: () => Promise<any>, onClose: () => void}} props
 */
export function Members({ group, users, onDone, onClose }) {
  const [text, setText] = useState('');
  const [changes, setChanges] = useState(/** @type {Record<string, boolean>} */ ({}));
  const isMember = (/** @type {User} */ user) => user.groups.includes(group.name);
  const pending = users.filter((user) => user.id in changes && changes[user.id] !== isMember(user));
  const save = useAction(async () => {
    try {
      for (const user of pending) await saveMembership(user.id, group.name, changes[user.id]);
    } finally {
      await onDone();
    }
    toast(`Members of ${group.name} saved`);
    onClose();
  });
  const shown = users.filter((user) => user.username.includes(text.trim().toLowerCase()));
  const footer = html`
    <${Button} onClick=${onClose}>Cancel</${Button}>
    <${Button} kind="primary" busy=${save.busy} disabled=${pending.length === 0} onClick=${save.run}>
      Save members
    </${Button}>
  `;
  return html`
    <${Drawer} title=${`Members of ${group.name}`} onClose=${onClose} footer=${footer}>
      <div class="stack">
        <${TextInput} label="Search users" hideLabel type="search" placeholder="Search users" value=${text}
          onInput=${setText} autocomplete="off" />
        <${ErrorNotice} error=${save.error} />
        <ul class="member-list" aria-label="Users">
          ${shown.map(
            (user) => html`
              <li key=${user.id}>
                <${Checkbox}
                  label=${html`
                    <span class="mono">${user.username}</span>
                    ${!user.active && html` <span class="muted small">inactive</span>`}
                  `}
                  checked=${changes[user.id] ?? isMember(user)}
                  onChange=${(/** @type {boolean} */ on) => setChanges({ ...changes, [user.id]: on })} />
              </li>
            `,
          )}
        </ul>
        ${shown.length === 0 && html`<p class="muted">No user matches.</p>`}
        <p class="muted small" role="status">
          ${pending.length > 0 ? `${plural(pending.length, 'change')} to save.` : ''}
        </p>
      </div>
    </${Drawer}>
  `;
}

/**
 * The API replaces the whole list of a user's groups, so the current list is read first.
 * @param {string} id
 * @param {string} group
 * @param {boolean} member
 */
async function saveMembership(id, group, member) {
  const path = at('/api/users/{id}', { id });
  const { groups } = await api.get(path);
  const others = groups.filter((/** @type {string} */ name) => name !== group);
  await api.patch(path, { groups: member ? [...others, group] : others });
}
