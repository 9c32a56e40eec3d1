/** State, health, link and registration of a space as badges. */
import { plural } from '../../lib/format.js';
import { html } from '../../lib/preact.js';
import { spaceState } from '../../lib/spaces.js';
import { Status } from '../../ui/badge.js';

/** @import { Space } from 'api' */

/** @typedef {import('../../ui/badge.js').Tone} Tone */

/** @type {Record<string, [Tone, string]>} */
const HEALTH = {
  unknown: ['neutral', 'No health check, or no result yet'],
  healthy: ['good', 'Its health check succeeds'],
  unhealthy: ['bad', 'Its health check fails'],
};

/** @param {{space: Space}} props */
export function StateStatus({ space }) {
  const { tone, label, reason } = spaceState(space);
  return html`<${Status} tone=${tone} title=${reason}>${label}</${Status}>`;
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
