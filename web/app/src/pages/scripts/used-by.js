/** The sinks and spaces that use a script. */
import { can } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';

/** The maximum number of records that are searched. */
const LOADED_MAX = 1_000;

/** @typedef {{id: string, name: string, script?: {script_id: string | null} | null}} Sink */
/** @typedef {{id: string, name: string, startup_script_id?: string | null}} Space */

/**
 * Links to the sinks or spaces that use a script. A dash while they load, for other kinds of scripts, and without the
 * permission to list them.
 * @param {{script: import('./kinds.js').Script}} props
 */
export function UsedBy({ script }) {
  const isSink = script.kind === 'sink' && can('manage_own_event_sinks');
  const isStartup = script.kind === 'startup' && can('use_spaces', 'manage_spaces');
  const sinks = useResource(isSink ? `/api/event-sinks?limit=${LOADED_MAX}` : null);
  const spaces = useResource(isStartup ? `/api/spaces?limit=${LOADED_MAX}` : null);
  const found = [
    ...(sinks.data?.event_sinks ?? [])
      .filter((/** @type {Sink} */ one) => one.script?.script_id === script.id)
      .map((/** @type {Sink} */ one) => ({ href: `/sinks/${one.id}`, name: one.name })),
    ...(spaces.data?.spaces ?? [])
      .filter((/** @type {Space} */ one) => one.startup_script_id === script.id)
      .map((/** @type {Space} */ one) => ({ href: `/spaces/${one.id}`, name: one.name })),
  ];
  if (!sinks.data && !spaces.data) return html`<span class="muted">–</span>`;
  if (found.length === 0) return html`<span class="muted">${isSink ? 'no sink' : 'no space'} that you see</span>`;
  return html`
    <span class="row">
      ${found.map(({ href, name }) => html`<a key=${href} class="mono" href=${href}>${name}</a>`)}
    </span>
  `;
}
