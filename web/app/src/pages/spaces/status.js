/** State, health, link and registration of a space as badges. */
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';

/**
 * A space of `GET /api/spaces`.
 * @typedef {object} Space
 * @property {string} id
 * @property {string} name
 * @property {string} owner_id
 * @property {string} owner
 * @property {'created' | 'deployed' | 'stopped'} state
 * @property {'unknown' | 'healthy' | 'unhealthy'} health
 * @property {'external' | 'local'} runtime
 * @property {string | null} template_id
 * @property {string | null} startup_script_id
 * @property {Record<string, string>} space_urls
 * @property {string | null} node_id
 * @property {boolean} linked
 * @property {HealthCheck} health_check
 * @property {Registration} registration
 * @property {string} created_at
 * @property {string} [agent_token] only in the response to the request that creates the space
 */
/**
 * @typedef {{type: 'none' | 'tcp' | 'http' | 'command', port?: number, url?: string, command?: string,
 *   interval_seconds: number, timeout_seconds: number, failures: number}} HealthCheck
 */
/**
 * @typedef {{state: 'none'} | {state: 'active' | 'waiting', methods: number} | {state: 'refused', error: string}}
 *   Registration
 */
/** @typedef {import('../../ui/badge.js').Tone} Tone */

/** @type {Record<string, [Tone, string]>} */
const STATES = {
  created: ['neutral', 'Its agent has never linked'],
  deployed: ['good', 'Its agent is linked, or was linked until a moment ago'],
  stopped: ['warn', 'Its methods are unavailable until it starts again'],
};
/** @type {Record<string, [Tone, string]>} */
const HEALTH = {
  unknown: ['neutral', 'No health check, or no result yet'],
  healthy: ['good', 'Its health check succeeds'],
  unhealthy: ['bad', 'Its health check fails'],
};

/** @param {{space: Space}} props */
export function StateStatus({ space }) {
  const [tone, title] = STATES[space.state] ?? ['neutral', ''];
  return html`<${Status} tone=${tone} title=${title}>${space.state}</${Status}>`;
}

/** @param {{space: Space}} props */
export function HealthStatus({ space }) {
  const [tone, title] = HEALTH[space.health] ?? ['neutral', ''];
  return html`<${Status} tone=${tone} title=${title}>${space.health}</${Status}>`;
}

/**
 * A missing link is shown as a problem only if the space is deployed.
 * @param {{space: Space}} props
 */
export function LinkStatus({ space }) {
  if (space.linked) return html`<${Status} tone="good" title="The agent is connected to a server">linked</${Status}>`;
  return html`
    <${Status} tone=${space.state === 'deployed' ? 'bad' : 'neutral'} title="The agent is not connected to a server">
      not linked
    </${Status}>
  `;
}

/** @param {{space: Space}} props */
export function RegistrationStatus({ space }) {
  const { registration } = space;
  if (registration.state === 'active')
    return html`<${Status} tone="good">${plural(registration.methods, 'method')}</${Status}>`;
  if (registration.state === 'waiting')
    return html`
      <${Status} tone="warn" title="The link is lost; the methods wait for it">
        ${plural(registration.methods, 'method')} waiting
      </${Status}>
    `;
  if (registration.state === 'refused')
    return html`<${Status} tone="bad" title=${registration.error}>refused</${Status}>`;
  return html`<${Status}>none</${Status}>`;
}
