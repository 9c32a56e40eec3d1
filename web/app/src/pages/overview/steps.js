/** The steps of the checklist, and the condition that completes each step. */
import { api } from '../../lib/api.js';
import { can, me } from '../../lib/me.js';

/** @import { EventRecord, Grant, Sink, Space, Token } from 'api' */

/**
 * @typedef {object} Step
 * @property {string} id
 * @property {string} title
 * @property {string} text
 * @property {string} [command]
 * @property {string} href
 * @property {string} go
 * @property {string[]} [needs]
 */
/**
 * The user's own records that show which steps are complete.
 * @typedef {{calls: number, spaces: Space[], sinks: Sink[], tokens: Token[], apps: Grant[], custom: EventRecord[]}}
 *   Rest
 */

const SPACES = ['use_spaces', 'manage_spaces'];

/** @type {Step[]} */
export const STEPS = [
  {
    id: 'space',
    title: 'Start a space',
    needs: SPACES,
    href: '/spaces',
    go: 'Go to spaces',
    text:
      'Your methods run in a space: a container, a machine, a folder. Create a space. You then get a command ' +
      'that starts its agent: run that command in the space.',
    command: 'svc space create lab',
  },
  {
    id: 'method',
    title: 'Publish a method',
    needs: SPACES,
    href: '/methods',
    go: 'Go to methods',
    text: 'Inside the space, register a file that names your program and the methods it answers.',
    command: 'svc methods register methods.toml',
  },
  {
    id: 'call',
    title: 'Call a method',
    needs: ['use_methods', ...SPACES],
    href: '/methods',
    go: 'Try one',
    text: 'Every method has a form to try it, and code for curl, the command line, Python and TypeScript.',
    command: 'svc method list',
  },
  {
    id: 'token',
    title: 'Create a token',
    href: '/tokens?new=1',
    go: 'New token',
    text: 'External programs call with a token. It can be limited to calling methods, and it can expire.',
    command: 'svc token create ci --scope methods --expires-in-days 90',
  },
  {
    id: 'mcp',
    title: 'Connect an MCP client',
    needs: ['use_mcp'],
    href: '/tools',
    go: 'Configure a client',
    text:
      'Methods marked as tools work in Claude, Cursor, VS Code and others. This step is done when a client is ' +
      'connected, or when you have a token with the scope mcp.',
    command: 'svc mcp config --client claude-code --create-token',
  },
  {
    id: 'event',
    title: 'Emit an event',
    needs: SPACES,
    href: '/events',
    go: 'Go to events',
    text: 'Events notify other programs. Spaces emit their own events; you can emit custom ones.',
    command: `svc event build.done '{"commit":"4f2a"}'`,
  },
  {
    id: 'sink',
    title: 'Deliver events',
    needs: ['manage_own_event_sinks'],
    href: '/sinks/new',
    go: 'New sink',
    text: 'A sink sends the events you choose to a webhook or a script, in order and with retries.',
    command: "svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook",
  },
];

/** Loads the user's own records, not those of other users. @param {AbortSignal} signal @returns {Promise<Rest>} */
export async function loadRest(signal) {
  const id = me.value?.id;
  const own = can(...SPACES);
  const sinks = can('manage_own_event_sinks');
  const [stats, spaces, sunk, tokens, apps, events] = await Promise.all([
    api.get('/api/stats', undefined, { signal }),
    own ? api.get('/api/spaces', { limit: 1000 }, { signal }) : { spaces: [] },
    sinks ? api.get('/api/event-sinks', { limit: 1000 }, { signal }) : { event_sinks: [] },
    api.get('/api/tokens', { limit: 1000 }, { signal }),
    api.get('/api/oauth/grants', { limit: 1 }, { signal }),
    own ? api.get('/api/events', { type: 'custom.*', limit: 100 }, { signal }) : { events: [] },
  ]);
  const isOwn = (/** @type {{owner_id: string}} */ one) => one.owner_id === id;
  return {
    calls: stats.minutes.reduce((sum, one) => sum + one.calls, 0),
    spaces: spaces.spaces.filter(isOwn),
    sinks: sunk.event_sinks.filter(isOwn),
    tokens: tokens.tokens,
    apps: apps.grants,
    custom: events.events.filter((event) => event.actor.id === id),
  };
}

/**
 * The steps that are complete according to the current data.
 * @param {Rest | null} rest
 */
export function completedSteps(rest) {
  if (rest === null) return [];
  /** @type {Record<string, boolean>} */
  const done = {
    space: rest.spaces.some((space) => space.state === 'deployed'),
    method: rest.spaces.some(({ registration }) => 'methods' in registration && registration.methods > 0),
    call: rest.calls > 0,
    token: rest.tokens.length > 0,
    mcp: rest.apps.length > 0 || rest.tokens.some((token) => token.scopes.includes('mcp')),
    event: rest.custom.length > 0,
    sink: rest.sinks.length > 0,
  };
  return Object.keys(done).filter((id) => done[id]);
}

/**
 * Moves the steps about spaces and methods to the end for a user who has no deployed space but sees methods: such a
 * user can call a method first.
 * @param {Step[]} steps
 * @param {{methods: number, spaces: {deployed: number} | null}} stats
 */
export function orderSteps(steps, { methods, spaces }) {
  if (methods === 0 || (spaces?.deployed ?? 0) > 0) return steps;
  const later = ['space', 'method'];
  return [...steps.filter((step) => !later.includes(step.id)), ...steps.filter((step) => later.includes(step.id))];
}
