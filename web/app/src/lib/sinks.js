/** The state of a sink. Every page derives it with `sinkState`, so that no page shows another state. */
import { formatNumber, plural } from './numbers.js';

/** @import { FailingSink, FeedProgress, LastDelivery, Sink } from 'api' */

/** @typedef {import('../ui/badge.js').Tone} Tone */
/** The members that decide about the state.
 * @typedef {Pick<Sink, 'active' | 'paused' | 'attention' | 'queue_depth' | 'lost' | 'dead' | 'failures' | 'held'> &
 *   Partial<Pick<Sink, 'feeds' | 'feed_progress'>> &
 *   {last_delivery: Omit<LastDelivery, 'n' | 'event_id'> & {n?: number} | null}} SinkFacts
 */

/** The states, the most urgent one first. */
const ORDER = /** @type {const} */ ([
  'paused',
  'failing',
  'undelivered',
  'retrying',
  'behind',
  'resending',
  'active',
  'disabled',
]);

/**
 * @typedef {object} SinkState
 * @property {typeof ORDER[number]} name
 * @property {Tone} tone
 * @property {string} label for a badge
 * @property {boolean} moves whether the state changes by itself
 * @property {string} reason a sentence; '' for `active`
 * @property {string | null} since
 * @property {string} waiting the events that wait: "28 in the queue, more are held"; '' if none
 */

/** A queue with at least this many events does not empty: a feed never fills it that far. */
const HALF_OF_QUEUE = 50;

/** @param {SinkFacts} sink @returns {SinkState} */
export function sinkState(sink) {
  const state = find(sink);
  return {
    moves: state.name === 'retrying' || state.name === 'resending',
    since: null,
    reason: '',
    ...state,
    waiting: waitingText(sink),
  };
}

/**
 * @param {SinkFacts} sink
 * @returns {{name: SinkState['name'], tone: Tone, label: string, reason?: string, since?: string | null}}
 */
function find(sink) {
  const last = sink.last_delivery;
  if (sink.paused) {
    const reason = `The service paused this sink: ${sink.paused.reason}.`;
    return { name: 'paused', tone: 'bad', label: 'paused', reason, since: sink.paused.at };
  }
  if (!sink.active)
    return { name: 'disabled', tone: 'neutral', label: 'disabled', reason: 'A user disabled this sink.' };
  if (sink.failures > 0) {
    const times = sink.failures === 1 ? 'once' : `${sink.failures} times`;
    const reason = `A delivery in its queue has failed ${times} and is tried again.`;
    return { name: 'retrying', tone: 'warn', label: 'retrying', reason };
  }
  // While past events are sent again, earlier failures need no attention.
  if (last?.state === 'dead' && sink.attention) {
    const number = last.n === undefined ? '' : ` (#${last.n})`;
    const why = last.error ? `: ${last.error}` : '.';
    const reason = `Its last delivery${number} was given up after its last attempt${why}`;
    return { name: 'failing', tone: 'bad', label: 'failing', reason, since: last.at };
  }
  if ((sink.feeds ?? 0) > 0) return resending(sink);
  if (unrecovered(sink)) {
    const missing = unrecovered(sink);
    const reason = `Not delivered and not sent again: ${missing}. Resend dead deliveries; replay dropped events.`;
    return { name: 'undelivered', tone: 'bad', label: missing, reason };
  }
  if (sink.held && sink.queue_depth >= HALF_OF_QUEUE) {
    const reason =
      'Events come faster than the receiver takes them. The events that do not fit into the queue are held.';
    return { name: 'behind', tone: 'warn', label: 'behind', reason };
  }
  return { name: 'active', tone: 'good', label: 'active' };
}

/** @param {SinkFacts} sink @returns {ReturnType<typeof find>} */
function resending({ feed_progress: feeds = [] }) {
  const label = progressText(feeds);
  const first = feeds[0];
  const reason =
    `${plural(sum(feeds, 'queued'), 'past event')} of ${formatNumber(sum(feeds, 'total'))} queued again. They are ` +
    'queued as the queue drains; half of it stays free for new events.';
  return { name: 'resending', tone: 'accent', label, reason, since: first?.since };
}

/** "resending 290 of 415". @param {FeedProgress[]} feeds */
export function progressText(feeds) {
  const verb = feeds.some((feed) => feed.kind === 'resend') ? 'resending' : 'replaying';
  return `${verb} ${formatNumber(sum(feeds, 'queued'))} of ${formatNumber(sum(feeds, 'total'))}`;
}

/** @param {FeedProgress[]} feeds @param {'queued' | 'total'} member */
const sum = (feeds, member) => feeds.reduce((total, feed) => total + feed[member], 0);

/** @param {SinkFacts} sink */
function waitingText({ active, queue_depth: depth, held, feeds = 0, feed_progress: progress = [] }) {
  const left = sum(progress, 'total') - sum(progress, 'queued');
  return [
    depth > 0 && `${formatNumber(depth)} in the queue`,
    // The filter of an active sink checks each new event a moment later: such an event is not worth a word.
    held && (!active || depth >= HALF_OF_QUEUE) && 'more are held',
    feeds > 0 && left > 0 && `${formatNumber(left)} to be sent again`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** By urgency; equal states by name. @param {Sink} a @param {Sink} b */
export const compareByState = (a, b) =>
  ORDER.indexOf(sinkState(a).name) - ORDER.indexOf(sinkState(b).name) || a.name.localeCompare(b.name);

/**
 * The numbers of events that were lost and not sent again: "20 dead, 842 dropped".
 * @param {{dead?: number, lost?: number}} sink
 */
export function unrecovered({ dead = 0, lost = 0 }) {
  return [dead > 0 && `${formatNumber(dead)} dead`, lost > 0 && `${formatNumber(lost)} dropped`]
    .filter(Boolean)
    .join(', ');
}

/** The facts about a sink in the answer of `GET /api/stats`. @param {FailingSink} failing @returns {SinkFacts} */
export function factsOf(failing) {
  const { state, event_type, error, at, paused, queue_depth = 0, held } = failing;
  return {
    ...failing,
    active: !paused,
    attention: true,
    failures: state === 'pending' && at ? 1 : 0,
    queue_depth,
    held,
    last_delivery: at && state !== 'pending' ? { state, event_type, error, at } : null,
  };
}
