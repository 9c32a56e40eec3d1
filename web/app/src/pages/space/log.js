/** The tail of a space's log, updated live. */
import { api, at } from '../../lib/api.js';
import { clockTime, exactTime } from '../../lib/format.js';
import { html, useEffect, useLayoutEffect, useRef, useState } from '../../lib/preact.js';
import { poll } from '../../lib/resource.js';
import { Status } from '../../ui/badge.js';
import { Button, CopyButton } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice } from '../../ui/error-notice.js';

/** @import { NumberedLine } from 'api' */

const FIRST_LINES = 200;
/** The maximum number of lines that the page keeps. The server keeps at most 500 lines of a space. */
const MOST_LINES = 1_000;
const EVERY_MS = 1_500;
/** If the log is scrolled to within this distance of its end, it scrolls on with new lines. */
const NEAR_END_PX = 40;

/** @param {{id: string}} props */
export function LogCard({ id }) {
  const [paused, setPaused] = useState(false);
  const { lines, error } = useLog(id, paused);
  const text = () => (lines ?? []).map((line) => `${line.at} ${line.source} ${line.line}`).join('\n');
  const actions = html`
    <${Status} tone=${error ? 'bad' : paused ? 'warn' : 'good'} pulse=${!paused && !error}>
      ${error ? 'interrupted' : paused ? 'paused' : 'live'}
    </${Status}>
    <${Button} size="small" icon=${paused ? 'play' : 'pause'} onClick=${() => setPaused(!paused)}>
      ${paused ? 'Follow log' : 'Pause log'}
    </${Button}>
    <${CopyButton} text=${text} label="Copy log" />
  `;
  return html`
    <${Card} title="Log" id="log" flush actions=${actions}
      description="Output of the method server and of scripts, and messages of the agent.">
      <${ErrorNotice} error=${error} />
      ${
        lines !== null &&
        (lines.length === 0
          ? html`
            <${EmptyState} level=${3} icon="terminal" title="Nothing logged yet">
              <p>Lines appear here as they are written. To follow them where the agent runs, use this command:</p>
              <${CodeBlock} text="svc methods logs -f" label="command that follows the log" prompt />
            </${EmptyState}>
          `
          : html`<${Lines} lines=${lines} follow=${!paused} />`)
      }
    </${Card}>
  `;
}

/** @param {{lines: NumberedLine[], follow: boolean}} props */
function Lines({ lines, follow }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  const last = lines[lines.length - 1]?.n;
  useLayoutEffect(() => {
    if (box.current && follow && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [last, follow]);
  const onScroll = () => {
    const el = box.current;
    if (el) atEnd.current = el.scrollHeight - el.scrollTop - el.clientHeight < NEAR_END_PX;
  };
  return html`
    <div class="log" ref=${box} onScroll=${onScroll} tabindex="0" role="log" aria-label="Log lines" aria-live="off">
      ${lines.map(
        (line) => html`
          <div class="log-line" key=${line.n}>
            <time class="log-time" datetime=${line.at} title=${exactTime(line.at)}>${clockTime(line.at)}</time>
            <span class=${`log-source log-${line.source}`}>${line.source}</span>
            <span class="log-text">${line.line}</span>
          </div>
        `,
      )}
    </div>
  `;
}

/** @param {string} id @param {boolean} paused */
function useLog(id, paused) {
  const [lines, setLines] = useState(/** @type {NumberedLine[] | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const cursor = useRef(/** @type {string | null} */ (null));
  useEffect(() => {
    if (paused) return undefined;
    const request = new AbortController();
    const load = async () => {
      try {
        const query = cursor.current ? { cursor: cursor.current } : { limit: FIRST_LINES };
        const page = await api.get(at('/api/spaces/{id}/logs', { id }), query, request);
        cursor.current = page.next_cursor ?? cursor.current;
        setLines((old) => (page.logs.length || !old ? [...(old ?? []), ...page.logs].slice(-MOST_LINES) : old));
        setError(null);
      } catch (caught) {
        if (!request.signal.aborted) setError(caught);
      }
    };
    void load();
    const stop = poll(load, EVERY_MS);
    return () => {
      stop();
      request.abort();
    };
  }, [id, paused]);
  return { lines, error };
}
