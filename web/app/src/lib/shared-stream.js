/**
 * The event streams of this tab. A worker holds one connection per path for all tabs of a user. A browser without
 * shared workers (Chrome on Android) opens the connections in the tab. A hidden tab closes its streams.
 */
import { streamEvents } from './stream.js';

/** A tab that is hidden for this long closes its streams. If it is hidden for a shorter time, they stay open. */
const UNSEEN_MS = 5_000;
/** Interval of the messages that show the worker that the tab still exists. */
const ALIVE_MS = 15_000;

/** @typedef {import('./stream.js').StreamEvent} StreamEvent */
/** @typedef {import('./stream.js').StreamState} StreamState */
/** @typedef {{onEvent: (event: StreamEvent) => void, onState: (state: StreamState, error?: any) => void}} Listener */
/** @typedef {{signal: AbortSignal, headers: Record<string, string>}} OpenOptions */
/** @typedef {(path: string, options: OpenOptions) => Promise<Response>} Open */

/** The listeners of each stream that this tab needs, by path. @type {Map<string, Set<Listener>>} */
const wanted = new Map();
/** Streams that this tab opened itself, because there is no worker. @type {Map<string, () => void>} */
const own = new Map();
/** @type {MessagePort | null} */
let port = null;
let started = false;
/** The id of the signed-in user. */
let user = '';
let seen = true;
/** @type {Open} */
let openStream = fetch;

/**
 * Follows a stream. The returned function stops it.
 * @param {string} path
 * @param {Listener & {open: Open}} options
 */
export function followStream(path, { onEvent, onState, open }) {
  openStream = open;
  if (!started) begin();
  const listener = { onEvent, onState };
  const listeners = wanted.get(path) ?? new Set();
  const joins = listeners.size > 0;
  wanted.set(path, listeners.add(listener));
  // Another component of this tab follows the stream already. Leave the stream and request it again, so that its
  // state is reported to the new listener.
  if (joins) leave(path);
  tell();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && wanted.get(path) === listeners) wanted.delete(path);
    tell();
  };
}

/**
 * Sets the signed-in user. Each user has a separate worker: a tab must never join a stream that another user has opened
 * in the same browser.
 * @param {string} id
 */
export function setStreamUser(id) {
  if (id === user) return;
  for (const path of [...own.keys()]) leave(path);
  port?.postMessage({ paths: [] });
  user = id;
  if (!started) return;
  port = connect();
  tell();
}

function begin() {
  started = true;
  port = connect();
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') show(true);
    else timer = window.setTimeout(() => show(false), UNSEEN_MS);
  };
  document.addEventListener('visibilitychange', look);
  window.addEventListener('pagehide', () => show(false));
  window.addEventListener('pageshow', look);
  seen = document.visibilityState === 'visible';
  setInterval(() => port && tell(), ALIVE_MS);
}

/** Requests all streams again, after the user has signed in again. */
export function renewStreams() {
  for (const path of wanted.keys()) leave(path);
  tell();
}

/** @returns {MessagePort | null} */
function connect() {
  if (typeof SharedWorker === 'undefined') return null;
  const address = new URL('../stream-worker.js', import.meta.url);
  const worker = new SharedWorker(address, { type: 'module', name: `streams of ${user}` });
  const ours = worker.port;
  ours.onmessage = ({ data }) => {
    // Ignore the last messages of the worker of another user.
    if (ours !== port) return;
    for (const listener of wanted.get(data.path) ?? []) {
      if (data.event) listener.onEvent(data.event);
      else listener.onState(data.state, data.error);
    }
  };
  // The script of the worker could not be loaded.
  worker.onerror = () => {
    if (ours !== port) return;
    port = null;
    tell();
  };
  return ours;
}

/** @param {boolean} now */
function show(now) {
  if (seen === now) return;
  seen = now;
  tell();
}

/** Requests the streams that this tab wants now. */
function tell() {
  const paths = seen ? [...wanted.keys()] : [];
  if (port) return port.postMessage({ paths });
  for (const path of own.keys()) if (!paths.includes(path)) leave(path);
  for (const path of paths) {
    if (own.has(path)) continue;
    const each = (/** @type {(listener: Listener) => void} */ act) => wanted.get(path)?.forEach(act);
    own.set(
      path,
      streamEvents(path, {
        open: openStream,
        onEvent: (event) => each((listener) => listener.onEvent(event)),
        onState: (state, error) => each((listener) => listener.onState(state, error)),
      }),
    );
  }
  return undefined;
}

/** Closes one stream. The next `tell` requests it again. @param {string} path */
function leave(path) {
  if (port) return port.postMessage({ paths: [...wanted.keys()].filter((one) => one !== path) });
  own.get(path)?.();
  own.delete(path);
  return undefined;
}
