/** The matrix: permissions as rows, roles as columns. It scrolls sideways; the permissions stay visible. */
import { withChanges } from '../../lib/changes.js';
import { plural } from '../../lib/format.js';
import { cx, html, useState } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Icon } from '../../ui/icon.js';
import { MEANING } from './permissions.js';

/** @import { Role } from 'api' */

/**
 * @param {object} props
 * @param {Role[]} props.roles
 * @param {string[]} props.permissions
 * @param {Record<string, import('../../lib/changes.js').Changes>} props.edits unsaved changes, by role
 * @param {(role: Role, permission: string, on: boolean) => void} props.onToggle
 * @param {((role: Role) => number) | null} props.membersOf null without the permission to see users
 * @param {(role: Role) => void} props.onRename
 * @param {(role: Role) => void} props.onDelete
 * @param {(role: Role, required: boolean) => Promise<void>} props.onRequire saves at once
 */
export function Matrix({ roles, permissions, edits, onToggle, membersOf, onRename, onDelete, onRequire }) {
  return html`
    <div class="matrix-wrap" tabindex="0" role="region" aria-label="Permission matrix">
      <table class="matrix" aria-label="Permissions of each role">
        <thead>
          <tr>
            <th scope="col" class="matrix-name">Permission</th>
            ${roles.map(
              (role) =>
                html`
                  <th key=${role.id} scope="col">
                    <span class="mono">${role.name}</span>
                    ${role.builtin && html`<${Badge}><${Icon} name="lock" size=${11} /> built in</${Badge}>`}
                  </th>
                `,
            )}
          </tr>
        </thead>
        <tbody>
          ${permissions.map(
            (permission) => html`
              <tr key=${permission}>
                <th scope="row" class="matrix-name">
                  <span class="mono">${permission}</span>
                  ${MEANING[permission] && html`<span class="permission-about">${MEANING[permission]}</span>`}
                </th>
                ${roles.map(
                  (role) =>
                    html`
                      <${Cell} key=${role.id} role=${role} permission=${permission}
                        held=${withChanges(role.permissions, edits[role.id])} onToggle=${onToggle} />
                    `,
                )}
              </tr>
            `,
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" class="matrix-name">
              Requires a second factor
              <span class="permission-about">At the next login with the password. Tokens need no second factor.</span>
            </th>
            ${roles.map((role) => html`<${RequireCell} key=${role.id} role=${role} onRequire=${onRequire} />`)}
          </tr>
          ${
            membersOf &&
            html`
              <tr>
                <th scope="row" class="matrix-name">Users</th>
                ${roles.map(
                  (role) =>
                    html`
                      <td key=${role.id}>
                        <a href=${`/users?role=${encodeURIComponent(role.name)}`}>${plural(membersOf(role), 'user')}</a>
                      </td>
                    `,
                )}
              </tr>
            `
          }
          <tr>
            <th scope="row" class="matrix-name">Actions</th>
            ${roles.map(
              (role) =>
                html`
                  <td key=${role.id}>
                    ${
                      role.builtin
                        ? html`<span class="muted">–</span>`
                        : html`
                          <span class="matrix-actions">
                            <${Button} size="small" aria-label=${`Rename ${role.name}`} onClick=${() => onRename(role)}>
                              Rename
                            </${Button}>
                            <${Button} size="small" aria-label=${`Delete ${role.name}`} onClick=${() => onDelete(role)}>
                              Delete
                            </${Button}>
                          </span>
                        `
                    }
                  </td>
                `,
            )}
          </tr>
        </tfoot>
      </table>
    </div>
  `;
}

/** @param {{role: Role, onRequire: (role: Role, on: boolean) => Promise<void>}} props */
function RequireCell({ role, onRequire }) {
  // The tick of the user, until the server has answered.
  const [sent, setSent] = useState(/** @type {boolean | null} */ (null));
  const change = async (/** @type {any} */ event) => {
    const on = event.currentTarget.checked;
    setSent(on);
    await onRequire(role, on);
    setSent(null);
  };
  return html`
    <td>
      <label class="matrix-check">
        <input type="checkbox" checked=${sent ?? role.require_second_factor} disabled=${sent !== null}
          aria-label=${`${role.name}: requires a second factor`} onChange=${change} />
      </label>
    </td>
  `;
}

/**
 * @param {{role: Role, permission: string, held: string[], onToggle: (role: Role, permission: string, on: boolean) =>
 *   void}} props
 */
function Cell({ role, permission, held, onToggle }) {
  const on = held.includes(permission);
  if (role.builtin) {
    return html`
      <td>
        ${
          on
            ? html`<span class="held"><${Icon} name="check" /><span class="visually-hidden">yes</span></span>`
            : html`<span class="muted"><span aria-hidden="true">–</span><span class="visually-hidden">no</span></span>`
        }
      </td>
    `;
  }
  // The permission to manage global sinks includes the permission to manage own sinks.
  const implied = !on && permission === 'manage_own_event_sinks' && held.includes('manage_global_event_sinks');
  const changed = on !== role.permissions.some((name) => name === permission);
  return html`
    <td class=${cx(changed && 'matrix-changed') || undefined}>
      <label class="matrix-check">
        <input type="checkbox" checked=${on} aria-label=${`${role.name}: ${permission}`}
          onChange=${(/** @type {any} */ event) => onToggle(role, permission, event.currentTarget.checked)} />
      </label>
      ${implied && html`<span class="matrix-implied">included</span>`}
    </td>
  `;
}
