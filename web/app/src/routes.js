/** Every page: its address, module, permissions and position in the navigation. */
import { preloadPage } from './lib/styles.js';

/**
 * @typedef {object} RouteRow
 * @property {string} path with `:name` for a variable part
 * @property {string} title
 * @property {() => Promise<{default: (props: {route: Route}) => any}>} load
 * @property {string[]} [needs] the user must have one of these permissions; if absent, every signed-in user may
 *   open the page
 * @property {boolean} [open] shown without the shell and without signing in
 * @property {boolean} [bare] shown without the shell, to a signed-in user: the page asks something that the user
 *   must answer first
 * @property {string} [icon] pages with an icon appear in the navigation
 * @property {string} [group] heading in the navigation
 */
/** @typedef {RouteRow & {pathname: string, params: Record<string, string>}} Route */

const SPACES = ['use_spaces', 'manage_spaces'];
const SINKS = ['manage_own_event_sinks', 'manage_global_event_sinks'];

/**
 * Loads the module of a page on its first visit. The declared type keeps TypeScript from inferring the union of all
 * modules.
 * @param {string} name
 * @returns {() => Promise<any>}
 */
const page = (name) => () => {
  preloadPage(name);
  return import(`./pages/${name}.js`);
};

/** @type {RouteRow[]} */
export const ROUTES = [
  { path: '/', title: 'Overview', load: page('overview'), icon: 'home', group: '' },

  { path: '/methods', title: 'Methods', load: page('methods'), icon: 'function', group: 'Call' },
  { path: '/methods/:name', title: 'Method', load: page('method') },
  { path: '/calls', title: 'Calls', load: page('calls'), icon: 'exchange', group: 'Call' },
  { path: '/spaces', title: 'Spaces', load: page('spaces'), icon: 'box', group: 'Call', needs: SPACES },
  { path: '/spaces/:id', title: 'Space', load: page('space'), needs: SPACES },
  {
    path: '/templates',
    title: 'Templates',
    load: page('templates'),
    icon: 'copy',
    group: 'Call',
    needs: SPACES,
  },
  { path: '/tools', title: 'MCP', load: page('mcp'), icon: 'plug', group: 'Call', needs: ['use_mcp'] },

  { path: '/events', title: 'Events', load: page('events'), icon: 'activity', group: 'Events' },
  { path: '/events/:id', title: 'Event', load: page('event') },
  { path: '/sinks', title: 'Sinks', load: page('sinks'), icon: 'send', group: 'Events', needs: SINKS },
  { path: '/sinks/new', title: 'New sink', load: page('sink-new'), needs: SINKS },
  { path: '/sinks/:id', title: 'Sink', load: page('sink'), needs: SINKS },
  { path: '/sources', title: 'Sources', load: page('sources'), icon: 'download', group: 'Events', needs: SPACES },
  { path: '/schedules', title: 'Schedules', load: page('schedules'), icon: 'clock', group: 'Events', needs: SPACES },
  { path: '/scripts', title: 'Scripts', load: page('scripts'), icon: 'code', group: 'Events' },
  { path: '/scripts/new', title: 'New script', load: page('script-new') },
  { path: '/scripts/:id', title: 'Script', load: page('script') },

  { path: '/tokens', title: 'Tokens', load: page('tokens'), icon: 'key', group: 'Access' },
  { path: '/users', title: 'Users', load: page('users'), icon: 'users', group: 'Access', needs: ['manage_users'] },
  { path: '/users/:id', title: 'User', load: page('user'), needs: ['manage_users'] },
  { path: '/apps', title: 'Apps', load: page('apps'), icon: 'grid', group: 'Access', needs: ['manage_users'] },
  {
    path: '/providers',
    title: 'Sign-in providers',
    load: page('providers'),
    icon: 'lock',
    group: 'Access',
    needs: ['manage_users'],
  },
  { path: '/groups', title: 'Groups', load: page('groups'), icon: 'layers', group: 'Access', needs: ['manage_groups'] },
  { path: '/roles', title: 'Roles', load: page('roles'), icon: 'shield', group: 'Access', needs: ['manage_roles'] },
  {
    path: '/servers',
    title: 'Servers',
    load: page('servers'),
    icon: 'monitor',
    group: 'Access',
    needs: ['view_audit'],
  },
  { path: '/audit', title: 'Audit', load: page('audit'), icon: 'list', group: 'Access', needs: ['view_audit'] },

  { path: '/account', title: 'Account', load: page('account') },
  { path: '/connect', title: 'Connect an app', load: page('connect'), bare: true },
  { path: '/device', title: 'Sign in a machine', load: page('device'), bare: true },
  { path: '/login', title: 'Sign in', load: page('login'), open: true },
  { path: '/sign-in', title: 'Sign in', load: page('sign-in'), open: true },
  { path: '/setup', title: 'Set up', load: page('setup'), open: true },
  { path: '/api/docs', title: 'HTTP API', load: page('api-docs'), open: true },
];

/** @type {RouteRow} */
const NOT_FOUND = { path: '*', title: 'Not found', load: page('not-found') };
/** @type {RouteRow} */
export const ENROL = { path: '*', title: 'Set up a second factor', load: page('enrol'), bare: true };
/** @type {RouteRow} */
export const FORBIDDEN = { path: '*', title: 'Not allowed', load: page('forbidden') };

/**
 * Finds the page of an address. Routes without a variable part take precedence.
 * @param {string} pathname
 * @returns {Route}
 */
export function findRoute(pathname) {
  const parts = split(pathname);
  for (const row of [...ROUTES].sort((a, b) => variables(a) - variables(b))) {
    const params = matchParts(split(row.path), parts);
    if (params) return { ...row, pathname, params };
  }
  return { ...NOT_FOUND, pathname, params: {} };
}

/** @param {string} path */
const split = (path) => path.split('/').filter(Boolean);
/** @param {RouteRow} row */
const variables = (row) => row.path.split(':').length;

/**
 * @param {string[]} pattern
 * @param {string[]} parts
 * @returns {Record<string, string> | null}
 */
function matchParts(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [index, want] of pattern.entries()) {
    if (want.startsWith(':')) params[want.slice(1)] = decode(parts[index]);
    else if (want !== parts[index]) return null;
  }
  return params;
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * The address to open after signing in: `next`, or `/` if `next` is on another site or needs no signing in.
 * @param {string} next
 * @param {string} origin
 */
export function safeNext(next, origin) {
  const target = next.startsWith('/') && URL.canParse(next, origin) ? new URL(next, origin) : null;
  // A path that starts with two slashes would be parsed as a host.
  if (!target || target.origin !== origin || target.pathname.startsWith('//') || findRoute(target.pathname).open)
    return '/';
  return target.pathname + target.search;
}
