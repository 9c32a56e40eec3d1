/** Every page of the interface, and an element that appears when its data is complete. */
import assert from 'node:assert/strict';

import { authorizePath, connect, register } from './oauth.js';
import { see, seeLoaded } from './scene.js';

/** @typedef {import('playwright-core').Page} Page */
/**
 * A page to visit: an address, and the user who opens it.
 * @typedef {object} Place
 * @property {string} route as in `routes.js`
 * @property {string | ((page: Page) => Promise<string>)} path
 * @property {(page: Page) => import('playwright-core').Locator} shows the element that appears last
 * @property {'guest' | 'cleo'} [who] a guest, or a user with few permissions; by default Ann, who has all permissions
 * @property {string} [name] if a route has more than one place
 */

/**
 * @param {import('./scene.js').Scene} scene of a server prepared by `Site` of the tests
 * @returns {Place[]}
 */
export function places({ facts }) {
  const { space, event, sink, script, source, schedule, ann, call } = facts;
  const app = appName(facts);
  const method = facts.markup ? 'speak' : 'orders.create';
  const text = (/** @type {string | RegExp} */ what) => (/** @type {Page} */ page) =>
    page.getByRole('main').getByText(what).first();
  const heading = (/** @type {string | RegExp} */ name) => (/** @type {Page} */ page) =>
    page.getByRole('heading', { level: 1, name });
  const dialog = (/** @type {string | RegExp} */ what) => (/** @type {Page} */ page) =>
    page.getByRole('dialog').getByText(what).first();
  return [
    { route: '/', path: '/', shows: text(event.type) },
    { route: '/methods', path: '/methods', shows: text(method) },
    { route: '/methods/:name', path: `/methods/${method}`, shows: heading(method) },
    {
      route: '/methods/:name',
      name: 'methods-name-calls',
      path: `/methods/${facts.markup ? method : 'orders.total'}?tab=calls`,
      shows: text(/calls? in the last 7 days/),
    },
    { route: '/calls', path: '/calls', shows: text(call.method) },
    { route: '/calls', name: 'calls-drawer', path: `/calls?call=${call.id}`, shows: dialog('Call id') },
    { route: '/calls', name: 'calls-history', path: '/calls?range=24h', shows: text(call.method) },
    { route: '/spaces', path: '/spaces', shows: text(space.name) },
    { route: '/spaces/:id', path: `/spaces/${space.id}`, shows: heading(space.name) },
    { route: '/spaces', name: 'spaces-new', path: '/spaces?new=1', shows: dialog('Create space') },
    { route: '/templates', path: '/templates', shows: text('web-server') },
    { route: '/templates', name: 'templates-new', path: '/templates?new=1', shows: dialog('Create template') },
    { route: '/tools', path: '/tools', shows: text(method.replace('.', '_')) },
    { route: '/events', path: '/events', shows: text(event.type) },
    { route: '/events', name: 'events-drawer', path: `/events?event=${event.id}`, shows: dialog(sink.name) },
    { route: '/events', name: 'events-history', path: '/events?range=24h', shows: text(event.type) },
    { route: '/events/:id', path: `/events/${event.id}`, shows: text(sink.name) },
    { route: '/sinks', path: '/sinks', shows: text(sink.name) },
    { route: '/sinks/new', path: '/sinks/new', shows: heading('New sink') },
    {
      route: '/sinks/:id',
      path: `/sinks/${sink.id}`,
      shows: (page) =>
        page
          .getByRole('main')
          .filter({ has: heading(sink.name)(page) })
          .getByRole('table', { name: 'Deliveries' })
          .locator('tbody tr')
          .first(),
    },
    {
      route: '/sinks/:id',
      name: 'sinks-id-delivery',
      path: `/sinks/${sink.id}?delivery=1`,
      shows: dialog('attempt 3'),
    },
    {
      route: '/sinks/:id',
      name: 'sinks-id-stats',
      path: `/sinks/${sink.id}?tab=stats`,
      shows: text('Show as table'),
    },
    {
      route: '/sinks/:id',
      name: 'sinks-id-settings',
      path: `/sinks/${sink.id}?tab=settings`,
      shows: text('Save changes'),
    },
    { route: '/sources', path: '/sources', shows: text(source.name) },
    { route: '/sources', name: 'sources-drawer', path: `/sources?source=${source.id}`, shows: dialog('rejected') },
    { route: '/sources', name: 'sources-new', path: '/sources?new=1', shows: dialog('Create source') },
    { route: '/schedules', path: '/schedules', shows: text(schedule.name) },
    {
      route: '/schedules',
      name: 'schedules-drawer',
      path: `/schedules?schedule=${schedule.id}`,
      shows: dialog('Next runs'),
    },
    { route: '/schedules', name: 'schedules-new', path: '/schedules?new=1', shows: dialog('Create schedule') },
    { route: '/scripts', path: '/scripts', shows: text(script.name) },
    { route: '/scripts/new', path: '/scripts/new', shows: heading('New script') },
    { route: '/scripts/:id', path: `/scripts/${script.id}`, shows: heading(script.name) },
    { route: '/tokens', path: '/tokens', shows: text('testkit') },
    { route: '/tokens', name: 'tokens-new', path: '/tokens?new=1', shows: dialog('Create token') },
    { route: '/users', path: '/users', shows: text(ann.username) },
    { route: '/users/:id', path: `/users/${facts.ann_id}`, shows: heading(ann.username) },
    { route: '/apps', path: '/apps', shows: text(app) },
    { route: '/apps', name: 'apps-new', path: '/apps?new=1', shows: dialog('Return addresses') },
    { route: '/providers', path: '/providers', shows: text('No providers yet') },
    { route: '/providers', name: 'providers-new', path: '/providers?new=1', shows: dialog('Issuer') },
    { route: '/groups', path: '/groups', shows: text('packers') },
    { route: '/roles', path: '/roles', shows: text('auditor') },
    { route: '/servers', path: '/servers', shows: text('this one') },
    { route: '/audit', path: '/audit', shows: text('event_sink.created') },
    { route: '/account', path: '/account', shows: text('this one') },
    {
      route: '/connect',
      path: async (page) => authorizePath(await register(page, app)),
      shows: heading(`Connect “${app}” to svc?`),
    },
    { route: '/device', path: '/device?code=BCDF-GHJK', shows: heading('Sign in a machine') },
    { route: '/login', path: '/login', who: 'guest', shows: heading('Sign in to svc') },
    { route: '/sign-in', path: '/sign-in', who: 'guest', shows: text('Open the whole link') },
    { route: '/api/docs', path: '/api/docs', who: 'guest', shows: text('/api/event-sinks/preview') },
    { route: '/setup', path: '/setup?token=svc_set_0', who: 'guest', shows: text('set up already') },
    { route: '*', name: 'not-found', path: '/nowhere', shows: heading('Page not found') },
    { route: '*', name: 'forbidden', path: '/users', who: 'cleo', shows: heading('You are not allowed to see this') },
  ];
}

/** The name of the app that asks to connect, and of the app that is connected. @param {any} facts */
const appName = (facts) => facts.markup ?? 'Probe';

/**
 * Opens a window per user, and returns the function that selects the window of a place. Ann has a connected app.
 * @param {import('./scene.js').Scene} scene
 * @param {import('playwright-core').BrowserContextOptions} [options]
 * @returns {Promise<(place: Place) => Page>}
 */
export async function windows(scene, options) {
  const { ann, cleo } = scene.facts;
  const pages = {
    ann: await scene.open(ann, options),
    cleo: await scene.open(cleo, options),
    guest: await scene.open(null, options),
  };
  await connect(scene.url, pages.ann, appName(scene.facts));
  return (place) => pages[place.who ?? 'ann'];
}

/** A name for files. @param {Place} place */
export function nameOf(place) {
  return place.name ?? (place.route.slice(1).replaceAll('/', '-').replaceAll(':', '') || 'overview');
}

/**
 * Goes to a place and waits until its data is complete.
 * @param {Page} page
 * @param {Place} place
 */
export async function visit(page, place) {
  await page.goto(typeof place.path === 'string' ? place.path : await place.path(page));
  await see(place.shows(page));
  await see(page.getByRole('heading', { level: 1 }));
  await seeLoaded(page);
}

/**
 * Fails unless every route of the interface has a place here; the routes come from the interface itself.
 * @param {Page} page any page of the interface
 * @param {Place[]} all
 */
export async function expectEveryRoute(page, all) {
  /** @type {string[]} */
  const routes = await page.evaluate(async () => {
    // The main bundle of the binary has all its modules as exports; in a folder, each module is a file.
    const main = /** @type {HTMLScriptElement} */ (document.querySelector('script[type="module"]')).src;
    const { $src_routes: bundled } = await import(main);
    const { ROUTES } = bundled ?? (await import(new URL('routes.js', main).href));
    return ROUTES.map((/** @type {{path: string}} */ row) => row.path);
  });
  const missing = routes.filter((route) => !all.some((place) => place.route === route));
  assert.deepEqual(missing, [], 'pages without a place');
}
