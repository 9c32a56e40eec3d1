/** The state of a space. Every page derives it with `spaceState`, so that no page shows another state. */

/** @import { Space } from 'api' */

/** @typedef {import('../ui/badge.js').Tone} Tone */
/**
 * @typedef {object} SpaceState
 * @property {'refused' | 'unlinked' | 'unhealthy' | 'lost' | 'deployed' | 'stopped' | 'created'} name
 * @property {Tone} tone
 * @property {string} label for a badge
 * @property {boolean} fails whether a person has to look at the space; the server counts these spaces
 * @property {string} reason a sentence
 * @property {string | null} since
 */

/** @param {Pick<Space, 'state' | 'stop_reason' | 'stopped_at' | 'health' | 'linked' | 'registration'>} space
 * @returns {SpaceState}
 */
export function spaceState({ state, stop_reason: stopped, stopped_at: at, health, linked, registration }) {
  const since = at ?? null;
  if (state === 'stopped') {
    if (stopped === 'link_lost')
      return failing(
        'lost',
        'link lost',
        'The service stopped this space, because its agent did not come back.',
        since,
      );
    const who = stopped === 'agent_stopped' ? 'Its agent was stopped.' : 'A user stopped this space.';
    return { name: 'stopped', tone: 'neutral', label: 'stopped', fails: false, since, reason: who };
  }
  if (registration.state === 'refused')
    return failing('refused', 'registration refused', `The registration was refused: ${registration.error}`, null);
  if (state === 'created')
    return {
      name: 'created',
      tone: 'neutral',
      label: 'created',
      fails: false,
      since: null,
      reason: 'Its agent has never linked.',
    };
  if (!linked)
    return failing(
      'unlinked',
      'not linked',
      'No agent is connected. After the grace period the space is stopped.',
      null,
    );
  if (health === 'unhealthy') return failing('unhealthy', 'unhealthy', 'Its health check fails.', null);
  return {
    name: 'deployed',
    tone: 'good',
    label: 'deployed',
    fails: false,
    since: null,
    reason: 'Its agent is linked.',
  };
}

/**
 * @param {SpaceState['name']} name
 * @param {string} label
 * @param {string} reason
 * @param {string | null} since
 * @returns {SpaceState}
 */
const failing = (name, label, reason, since) => ({ name, tone: 'bad', label, fails: true, reason, since });

/** Failing spaces first; the others keep their order. @param {Space} a @param {Space} b */
export const compareSpaces = (a, b) => Number(spaceState(b).fails) - Number(spaceState(a).fails);
