/**
 * Server-sent events over fetch. Not `EventSource`: the server uses the event type as the event name, and an
 * `EventSource` only delivers names registered in advance. An `EventSource` also cannot distinguish a 403 from a lost
 * connection.
 *
 * Runs in a page or in a worker, so it uses neither the document nor the window. Pages use `shared-stream.js`.
 */

/** @typedef {{id: string, type: string, data: any}} StreamEvent */
/** @typedef {'connecting' | 'open' | 'waiting' | 'failed'} StreamState */

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/**
 * @param {string} path
 * @param {object} options
 * @param {(event: StreamEvent) => void} options.onEvent
 * @param {(state: StreamState, error?: any) => void} [options.onState]
 * @param {(path: string, options: {signal: AbortSignal, headers: Record<string, string>}) => Promise<Response>}
 *   options.open
 * @returns {() => void} stops the stream
 */
export function streamEvents(path, { onEvent, onState = () => {}, open }) {
  const stop = new AbortController();
  void follow();
  return () => stop.abort();

  async function follow() {
    let wait = FIRST_WAIT_MS;
    let last = '';
    while (!stop.signal.aborted) {
      onState('connecting');
      try {
        const headers = last ? { 'Last-Event-ID': last } : /** @type {Record<string, string>} */ ({});
        const response = await open(path, { signal: stop.signal, headers });
        onState('open');
        wait = FIRST_WAIT_MS;
        await readEvents(response, (event) => {
          if (stop.signal.aborted) return;
          last = event.id || last;
          onEvent(event);
        });
      } catch (error) {
        if (stop.signal.aborted) return;
        // After a rejection other than 429, do not retry: it would only fill the server's log.
        const status = /** @type {{status?: number}} */ (error).status ?? 0;
        if (status >= 400 && status < 500 && status !== 429) return onState('failed', error);
      }
      if (stop.signal.aborted) return;
      onState('waiting');
      await pause(wait, stop.signal);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }
}

/**
 * @param {Response} response
 * @param {(event: StreamEvent) => void} onEvent
 */
async function readEvents(response, onEvent) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parse = eventParser(onEvent);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(value);
  }
}

/**
 * Parses chunks of text into events.
 * @param {(event: StreamEvent) => void} onEvent
 * @returns {(piece: string) => void}
 */
export function eventParser(onEvent) {
  let rest = '';
  let id = '';
  let type = '';
  /** @type {string[]} */
  let data = [];
  return (piece) => {
    rest += piece;
    const lines = rest.split(/\r\n|\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length) onEvent({ id, type: type || 'message', data: decode(data.join('\n')) });
        [type, data] = ['', []];
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'id') id = value;
      else if (field === 'event') type = value;
      else if (field === 'data') data.push(value);
    }
  };
}

/** @param {string} text */
function decode(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
