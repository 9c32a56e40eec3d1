/**
 * A SharedWorker that holds the event streams of all tabs of a user. Over HTTP/1.1 a browser opens at most six
 * connections per host: with a stream in each tab, the seventh tab would load nothing.
 *
 * Each message of a tab contains all paths that the tab needs. The message also shows that the tab still exists.
 */
import { streamEvents } from './lib/stream.js';

/** The maximum number of open streams. A further stream, which has other filters, waits until one is closed. */
const STREAMS_MAX = 3;
/** A tab that sent no message for this long counts as closed: a crashed tab cannot report its end. */
const SILENT_MS = 60_000;

/** @typedef {{paths: Set<string>, heard: number}} Tab */
/** @typedef {{state: import('./lib/stream.js').StreamState, error?: any, stop: () => void}} Stream */

/** @type {Map<MessagePort, Tab>} */
const tabs = new Map();
/** @type {Map<string, Stream>} */
const streams = new Map();

/** @type {any} */ (self).onconnect = (/** @type {MessageEvent} */ event) => {
  const [port] = event.ports;
  port.onmessage = ({ data }) => hear(port, new Set(data.paths));
};
setInterval(settle, SILENT_MS / 4);

/** @param {MessagePort} port @param {Set<string>} paths */
function hear(port, paths) {
  const before = tabs.get(port)?.paths ?? new Set();
  tabs.set(port, { paths, heard: Date.now() });
  settle();
  for (const path of paths) {
    const stream = streams.get(path);
    // A tab that joins an open stream gets the state of the stream. A failed stream is opened again.
    if (before.has(path)) continue;
    if (stream?.state === 'failed') restart(path);
    else port.postMessage({ path, state: stream?.state ?? 'waiting' });
  }
}

/** Opens the streams that some tab wants, and closes the others. */
function settle() {
  for (const [port, tab] of tabs) if (tab.heard < Date.now() - SILENT_MS) tabs.delete(port);
  const wanted = new Set([...tabs.values()].flatMap((tab) => [...tab.paths]));
  for (const [path, stream] of streams) {
    if (wanted.has(path)) continue;
    stream.stop();
    streams.delete(path);
  }
  for (const path of wanted) if (!streams.has(path) && streams.size < STREAMS_MAX) start(path);
}

/** @param {string} path */
function restart(path) {
  streams.get(path)?.stop();
  start(path);
}

/** @param {string} path */
function start(path) {
  /** @type {Stream} */
  const stream = { state: 'connecting', stop: () => {} };
  streams.set(path, stream);
  stream.stop = streamEvents(path, {
    open,
    onEvent: (event) => send(path, { path, event }),
    onState: (state, error) => {
      stream.state = state;
      send(path, { path, state, error: error && { ...error } });
    },
  });
}

/** @param {string} path @param {any} message */
function send(path, message) {
  for (const [port, tab] of tabs) if (tab.paths.has(path)) port.postMessage(message);
}

/**
 * @param {string} path
 * @param {{signal: AbortSignal, headers: Record<string, string>}} options
 */
async function open(path, options) {
  const response = await fetch(path, { ...options, credentials: 'same-origin' });
  if (response.ok) return response;
  // The tab turns this value into an error.
  throw { ...(await response.json().catch(() => ({}))), status: response.status };
}
