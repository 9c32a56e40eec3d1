/** The sinks, spaces, templates and scripts that use a script. */
import { withQuery } from '../../lib/api.js';
import { can } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { importersOf } from './imports.js';

/** @import { Script, Sink } from 'api' */

/** The maximum number of records that are searched. */
const LOADED_MAX = 1_000;

/** A space or a template. @typedef {{id: string, name: string, startup_script_id?: string | null}} Starter */
/** @typedef {{href: string, name: string}} Link */

/**
 * Links to the records that use a script. A dash while they load, and without the permission to list them.
 * @param {{script: Script}} props
 */
export function UsedBy({ script }) {
  if (script.kind === 'sink' && can('manage_own_event_sinks')) return html`<${Sinks} script=${script} />`;
  if (script.kind === 'startup' && can('use_spaces', 'manage_spaces')) return html`<${Starters} script=${script} />`;
  if (script.kind === 'library') return html`<${Importers} script=${script} />`;
  return html`<${Links} links=${null} none="" />`;
}

/** @param {{script: Script}} props */
function Sinks({ script }) {
  /** @type {Sink[] | undefined} */
  const sinks = useResource(withQuery('/api/event-sinks', { limit: LOADED_MAX })).data?.event_sinks;
  const found = sinks?.filter((one) => one.script?.script_id === script.id);
  return html`<${Links} links=${found?.map((one) => linkTo('/sinks/', one))} none="no sink" />`;
}

/** @param {{script: Script}} props */
function Starters({ script }) {
  /** @type {Starter[] | undefined} */
  const spaces = useResource(withQuery('/api/spaces', { limit: LOADED_MAX })).data?.spaces;
  /** @type {Starter[] | undefined} */
  const templates = useResource(withQuery('/api/templates', { limit: LOADED_MAX })).data?.templates;
  const uses = (/** @type {Starter} */ one) => one.startup_script_id === script.id;
  const found = spaces &&
    templates && [
      ...spaces.filter(uses).map((one) => linkTo('/spaces/', one)),
      ...templates
        .filter(uses)
        .map((one) => linkTo('/templates?template=', { ...one, name: `${one.name} (template)` })),
    ];
  return html`<${Links} links=${found} none="no space or template" />`;
}

/** @param {{script: Script}} props */
function Importers({ script }) {
  /** @type {Script[] | undefined} */
  const scripts = useResource(withQuery('/api/scripts', { limit: LOADED_MAX })).data?.scripts;
  const found = scripts && importersOf(script, scripts);
  return html`<${Links} links=${found?.map((one) => linkTo('/scripts/', one))} none="no script" />`;
}

/** @param {string} path @param {{id: string, name: string}} record @returns {Link} */
const linkTo = (path, { id, name }) => ({ href: `${path}${id}`, name });

/** @param {{links: Link[] | null | undefined, none: string}} props */
function Links({ links, none }) {
  if (!links) return html`<span class="muted">–</span>`;
  if (links.length === 0) return html`<span class="muted">${none} that you see</span>`;
  return html`
    <span class="row">
      ${links.map(({ href, name }) => html`<a key=${href} class="mono" href=${href}>${name}</a>`)}
    </span>
  `;
}
