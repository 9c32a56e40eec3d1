// The state of a sink and of a space: one function each, for every page.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { compareByState, factsOf, sinkState } from '../app/src/lib/sinks.js';
import { compareSpaces, spaceState } from '../app/src/lib/spaces.js';

/** @import { DeliveryState, Sink, Space } from 'api' */

/** @type {Sink['delivery']} */
const POLICY = {
  attempts: 3,
  failing_after_failures: 3,
  in_flight: 16,
  keep_exchanges: false,
  max_repeats: 8,
  notify: false,
  on_exhausted: 'skip',
  ordering: 'strict',
  overflow: 'drop',
  permanent_statuses: [],
  retry_after: false,
};

/** @param {Partial<Sink>} part @returns {Sink} */
const sink = (part) => ({
  delivery: POLICY,
  feeds: 0,
  filter_errors: 0,
  held: false,
  id: '1',
  name: 'hook',
  description: '',
  patterns: ['*'],
  type: 'webhook',
  owner: 'user',
  owner_id: '1',
  active: true,
  attention: false,
  webhook: null,
  script: null,
  json_rpc: null,
  queue_depth: 0,
  dropped: 0,
  failures: 0,
  last_delivery: null,
  created_at: '2026-01-01T00:00:00.000Z',
  ...part,
});

const last = (/** @type {DeliveryState} */ state, at = '2026-01-02T00:00:00.000Z') => ({
  n: 7,
  event_id: '1',
  event_type: 'custom.x',
  state,
  at,
  error: state === 'dead' ? 'HTTP 500' : null,
});
const paused = { at: '2026-01-02T00:00:00.000Z', reason: 'all 2 attempts of a delivery failed' };
const feed = /** @type {const} */ ({ kind: 'resend', total: 415, queued: 290, since: '2026-01-03T00:00:00.000Z' });

test('every state of a sink has its word, its tone and its place', () => {
  /** @type {[Partial<Sink>, string, string, string, boolean][]} */
  const cases = [
    [{}, 'active', 'active', 'good', false],
    [{ queue_depth: 3, last_delivery: last('delivered') }, 'active', 'active', 'good', false],
    [{ active: false }, 'disabled', 'disabled', 'neutral', false],
    [{ active: false, paused, held: true, queue_depth: 28 }, 'paused', 'paused', 'bad', true],
    [{ failures: 2 }, 'retrying', 'retrying', 'warn', true],
    [{ last_delivery: last('dead') }, 'failing', 'failing', 'bad', true],
    [{ dead: 20, lost: 842, last_delivery: last('delivered') }, 'undelivered', '20 dead, 842 dropped', 'bad', true],
    [{ held: true, queue_depth: 100 }, 'behind', 'behind', 'warn', false],
    [{ held: true }, 'active', 'active', 'good', false],
  ];
  for (const [part, name, label, tone, attention] of cases) {
    const state = sinkState(sink({ ...part, attention }));
    assert.deepEqual([state.name, state.label, state.tone], [name, label, tone], `${name} of cases`);
  }
  const order = cases.map(([part, name, , , attention]) => sink({ ...part, name, attention })).sort(compareByState);
  assert.deepEqual([order[0].name, order.at(-1)?.name], ['paused', 'disabled']);
});

test('a sink that the service paused says why, since when and what waits', () => {
  const state = sinkState(sink({ active: false, paused, held: true, queue_depth: 28 }));
  assert.match(state.reason, /service paused this sink: all 2 attempts/);
  assert.equal(state.since, paused.at);
  assert.equal(state.waiting, '28 in the queue, more are held');
  assert.doesNotMatch(sinkState(sink({ active: false })).reason, /service/, 'a user disabled this one');
});

test('while past events are sent again the state says how far, and neither well nor lost', () => {
  const dead = { dead: 124, feeds: 1, feed_progress: [feed], queue_depth: 50, last_delivery: last('dead') };
  const running = sinkState(sink(dead));
  assert.deepEqual([running.name, running.tone], ['resending', 'accent']);
  assert.equal(running.label, 'resending 290 of 415');
  assert.doesNotMatch(running.reason, /not sent again/);
  assert.equal(running.waiting, '50 in the queue, 125 to be sent again');
  const replay = { ...feed, kind: /** @type {const} */ ('replay'), total: 1_697, queued: 50 };
  const replaying = sinkState(sink({ feeds: 1, feed_progress: [replay], last_delivery: last('delivered') }));
  assert.deepEqual([replaying.label.replace(/\D/g, ''), replaying.tone], ['501697', 'accent']);
  assert.match(replaying.label, /^replaying 50 of/);
  // The deliveries that are sent again fail again.
  const again = { ...dead, attention: true, last_delivery: last('dead', '2026-01-03T00:00:01.000Z') };
  assert.equal(sinkState(sink(again)).name, 'failing');
  assert.equal(sinkState(sink({ ...dead, attention: true, failures: 1 })).name, 'retrying');
  assert.equal(sinkState(sink({ ...dead, attention: true, active: false, paused })).name, 'paused');
});

test('a failing sink of the statistics has the same state as its record', () => {
  const row = {
    id: '1',
    name: 'a',
    owner: /** @type {const} */ ('user'),
    event_type: 'x',
    error: 'e',
    dead: 1,
    lost: 0,
  };
  const at = '2026-01-02T00:00:00.000Z';
  const nameOf = (/** @type {any} */ part) => sinkState(factsOf({ ...row, at, ...part })).name;
  assert.equal(nameOf({ state: 'dead' }), 'failing');
  assert.equal(nameOf({ state: 'delivered' }), 'undelivered');
  assert.equal(nameOf({ state: 'pending' }), 'retrying');
  assert.equal(nameOf({ state: 'pending', paused }), 'paused');
  assert.equal(nameOf({ state: 'pending', at: null, lost: 3, dead: 0 }), 'undelivered');
});

/** @param {Partial<Space>} part @returns {Space} */
const space = (part) => ({
  id: '1',
  name: 'lab',
  owner_id: '1',
  owner: 'ann',
  state: 'deployed',
  health: 'unknown',
  runtime: 'external',
  template_id: null,
  startup_script_id: null,
  space_urls: {},
  node_id: null,
  linked: true,
  health_check: { type: 'none', interval_seconds: 10, timeout_seconds: 5, failures: 3 },
  registration: { state: 'active', methods: 3 },
  created_at: '2026-01-01T00:00:00.000Z',
  ...part,
});

test('a space is green only if its link, its health and its registration are well', () => {
  const refused = /** @type {const} */ ({ state: 'refused', error: 'group `ops` does not exist' });
  /** @type {[Partial<Space>, string, string, boolean][]} */
  const cases = [
    [{}, 'deployed', 'good', false],
    [{ health: 'healthy' }, 'deployed', 'good', false],
    [{ registration: refused }, 'refused', 'bad', true],
    [{ registration: refused, state: 'created', linked: false }, 'refused', 'bad', true],
    [{ health: 'unhealthy' }, 'unhealthy', 'bad', true],
    [{ linked: false, registration: { state: 'waiting', methods: 3 } }, 'unlinked', 'bad', true],
    [{ state: 'created', linked: false }, 'created', 'neutral', false],
    [{ state: 'stopped', linked: false, stop_reason: 'requested' }, 'stopped', 'neutral', false],
    [{ state: 'stopped', linked: false, stop_reason: 'agent_stopped' }, 'stopped', 'neutral', false],
    [{ state: 'stopped', linked: false, stop_reason: 'link_lost' }, 'lost', 'bad', true],
  ];
  for (const [part, name, tone, fails] of cases) {
    const state = spaceState(space(part));
    assert.deepEqual([state.name, state.tone, state.fails], [name, tone, fails]);
  }
  assert.match(spaceState(space({ registration: refused })).reason, /group `ops` does not exist/);
  const listed = [space({ name: 'well' }), space({ name: 'bad', linked: false })].sort(compareSpaces);
  assert.deepEqual(
    listed.map(({ name }) => name),
    ['bad', 'well'],
  );
});
