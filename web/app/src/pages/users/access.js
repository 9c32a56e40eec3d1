/** The effective permissions and methods of a user. */
import { plural } from '../../lib/format.js';
import { can } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Icon } from '../../ui/icon.js';
import { Table } from '../../ui/table.js';
import { MEANING } from '../roles/permissions.js';
import { Names } from './fields.js';

/** @import { AccessibleMethod, HeldPermission, UserAccess } from 'api' */

const roleHref = (/** @type {string} */ name) => (can('manage_roles') ? `/roles?q=${encodeURIComponent(name)}` : null);
const groupHref = (/** @type {string} */ name) =>
  can('manage_groups') ? `/groups?q=${encodeURIComponent(name)}` : null;

/** @type {import('../../ui/table.js').Column<HeldPermission>[]} */
const PERMISSION_COLUMNS = [
  {
    key: 'name',
    label: 'Permission',
    cell: (one) =>
      html`
        <span class="permission">
          <span class="mono">${one.name}</span>
          ${MEANING[one.name] && html`<span class="permission-about">${MEANING[one.name]}</span>`}
        </span>
      `,
  },
  {
    key: 'held',
    label: 'Held',
    shrink: true,
    cell: (one) =>
      one.roles.length
        ? html`<span class="held"><${Icon} name="check" /> yes</span>`
        : html`<span class="muted">no</span>`,
  },
  {
    key: 'roles',
    label: 'Through roles',
    cell: (one) => html`<${Names} names=${one.roles} none="–" href=${roleHref} />`,
  },
];

/** @param {{permissions: HeldPermission[]}} props */
export function PermissionsAccess({ permissions }) {
  const held = permissions.filter((one) => one.roles.length > 0).length;
  return html`
    <${Card} title="Effective permissions" flush
      description=${`${held} of ${permissions.length}, and the roles they come from.`}>
      <${Table} label="Effective permissions" columns=${PERMISSION_COLUMNS} rows=${permissions} />
    </${Card}>
  `;
}

/** @type {import('../../ui/table.js').Column<AccessibleMethod>[]} */
const METHOD_COLUMNS = [
  { key: 'name', label: 'Method', mono: true },
  { key: 'owner', label: 'Owner', mono: true },
  {
    key: 'through',
    label: 'Through',
    cell: (one) =>
      one.through === 'everyone'
        ? html`<${Badge}>everyone</${Badge}>`
        : html`<${Names} names=${one.groups} href=${groupHref} />`,
  },
];

/** @param {{access: UserAccess}} props */
export function MethodsAccess({ access }) {
  const others = access.permissions.some((one) => one.name === 'use_methods' && one.roles.length > 0);
  const empty = html`
    <${EmptyState} icon="function" level=${3}
      title=${others ? 'No shared methods' : 'No permission to call others’ methods'}>
      ${
        others
          ? 'No user shares a method with everyone or with one of these groups.'
          : html`Calling shared methods of others needs <code>use_methods</code>.`
      }
    </${EmptyState}>
  `;
  const own = plural(access.own_methods, 'method');
  const shared = plural(access.methods.length, 'shared method');
  return html`
    <${Card} title="Callable methods" flush description=${`${own} of their own, and ${shared} of others:`}>
      <${Table} label="Shared methods of others" columns=${METHOD_COLUMNS} rows=${access.methods}
        rowKey=${(/** @type {AccessibleMethod} */ one) => one.name} empty=${empty} />
    </${Card}>
  `;
}
