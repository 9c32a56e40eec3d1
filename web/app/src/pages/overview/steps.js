/** The steps of the checklist, and the condition that completes each. */
import { api } from '../../lib/api.js';
import { can, me } from '../../lib/me.js';

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
/** Data beyond the counts: which items belong to the user. */
/**
 * @typedef {{spaces: {state: string, registration: {methods?: number}}[], tokens: {scopes: string[]}[], apps: any[],
 *   custom: any[]}} Rest
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
      'Your methods run in a space: a container, a machine, a folder. Create one, and start its agent there ' +
      'with the command shown.',
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
    text: 'A sink sends the events you choose to a webhook, a script or a method, in order and with ' + 'retries.',
    command: "svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook",
  },
];

/** @param {AbortSignal} signal @returns {Promise<Rest>} */
export async function loadRest(signal) {
  const own = can(...SPACES);
  const [spaces, tokens, apps, events] = await Promise.all([
    own ? api.get('/api/spaces', { limit: 1000 }, { signal }) : { spaces: [] },
    api.get('/api/tokens', { limit: 1000 }, { signal }),
    api.get('/api/oauth/grants', { limit: 1 }, { signal }),
    own ? api.get('/api/events', { type: 'custom.*', limit: 1 }, { signal }) : { events: [] },
  ]);
  const mine = spaces.spaces.filter((/** @type {any} */ space) => space.owner_id === me.value?.id);
  return { spaces: mine, tokens: tokens.tokens, apps: apps.grants, custom: events.events };
}

/**
 * The steps that are complete according to the current data.
 * @param {import('../overview.js').Stats} stats
 * @param {Rest | null} rest
 */
export function completedSteps(stats, rest) {
  /** @type {Record<string, boolean>} */
  const done = {
    space: rest?.spaces.some((space) => space.state === 'deployed') ?? false,
    method: rest?.spaces.some((space) => (space.registration.methods ?? 0) > 0) ?? false,
    call: stats.minutes.some((minute) => minute.calls > 0),
    token: (rest?.tokens.length ?? 0) > 0,
    mcp: rest !== null && (rest.apps.length > 0 || rest.tokens.some((token) => token.scopes.includes('mcp'))),
    event: (rest?.custom.length ?? 0) > 0,
    sink: (stats.sinks?.total ?? 0) > 0,
  };
  return Object.keys(done).filter((id) => done[id]);
}
