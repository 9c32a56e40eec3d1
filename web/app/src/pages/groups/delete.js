/** Deletes a group, after showing which methods and sinks depend on it. */
import { at } from '../../lib/api.js';
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { pendingOf } from '../../ui/error-notice.js';
import { DeleteDialog } from '../../ui/record-page.js';

/** @import { GroupMethods, User } from 'api' */

/** The maximum number of names in the list. For further names, the list shows only their number. */
const NAMES_SHOWN = 8;

/**
 * @param {{group: {id: string, name: string}, members: User[] | undefined,
 *   onDone: () => Promise<any>, onClose: () => void}} props
 */
export function DeleteGroup({ group, members, onDone, onClose }) {
  const effects = useResource(at('/api/groups/{id}/methods', { id: group.id }));
  return html`
    <${DeleteDialog} title=${`Delete ${group.name}?`} action="Delete group" said=${`Group ${group.name} deleted`}
      path=${at('/api/groups/{id}', { id: group.id })} about=${{ onClose, onChanged: onDone }}>
      ${members !== undefined && html`<p>It has ${plural(members.length, 'member')}.</p>`}
      ${pendingOf(effects) ?? html`<${EffectsList} effects=${effects.data} />`}
    </${DeleteDialog}>
  `;
}

/** @param {{effects: GroupMethods}} props */
function EffectsList({ effects }) {
  const { total, only, methods, script_sinks: scripts } = effects;
  if (total === 0) return html`<p>No method is limited to this group.</p>`;
  const shown = methods.slice(0, NAMES_SHOWN);
  return html`
    <p>
      The members lose the access to ${plural(total, 'method')} that this group gives
      them${shown.length > 0 ? ':' : '.'}
    </p>
    ${
      shown.length > 0 &&
      html`
        <ul class="stack-small" aria-label="Methods of the group">
          ${shown.map(
            ({ name, only: alone }) => html`
              <li key=${name}>
                <span class="mono anywhere">${name}</span>
                ${alone && html` <span class="muted small">then only its owner can call it</span>`}
              </li>
            `,
          )}
          ${total > shown.length && html`<li class="muted">and ${total - shown.length} more</li>`}
        </ul>
      `
    }
    ${
      only > 0 &&
      shown.length === 0 &&
      html`
        <p>
          ${plural(only, 'method')} of them can then be called by ${only === 1 ? 'its owner' : 'their owners'} only.
        </p>
      `
    }
    ${
      scripts > 0 &&
      html`
        <p>
          ${plural(scripts, 'script sink')} of members ${scripts === 1 ? 'keeps' : 'keep'} running; a script that calls
          one of these methods then fails.
        </p>
      `
    }
    ${scripts === 0 && html`<p class="muted">No member has an active script sink.</p>`}
  `;
}
