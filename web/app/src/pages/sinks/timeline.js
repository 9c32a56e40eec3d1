/** The attempts of a delivery in their order: at most one is open, two can be compared. */
import { useAction } from '../../lib/action.js';
import { api, at } from '../../lib/api.js';
import { formatDuration } from '../../lib/duration.js';
import { exactTime } from '../../lib/format.js';
import { html, useEffect, useState } from '../../lib/preact.js';
import { sinkState } from '../../lib/sinks.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Comparison } from '../../ui/compare.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { withCode } from '../../ui/rich-text.js';
import { OMITTED, outcomeOf } from '../events/attempts.js';
import { attemptText, ExchangeTabs } from './exchange.js';

/** @import { Attempt, Delivery, Sink } from 'api' */

/** @param {{sink: Sink, delivery: Delivery}} props */
export function Timeline({ sink, delivery }) {
  const { attempts } = delivery;
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  // The newest attempt is open until the user closes it or opens another one.
  const open = chosen ?? attempts.length - 1;
  if (attempts.length === 0) return html`<p class="muted small">Not tried yet.</p>`;
  return html`
    <div class="stack">
      <ol class="attempts" aria-label="Attempts">
        ${attempts.map(
          (attempt, index) => html`
            <li key=${index} class="attempt">
              <button type="button" class="attempt-toggle" aria-expanded=${index === open}
                onClick=${() => setChosen(index === open ? -1 : index)}>
                <${Status} tone=${attempt.error ? 'bad' : 'good'}>${outcomeOf(attempt)}</${Status}>
                <span class="muted small">
                  attempt ${index + 1}, ${formatDuration(attempt.ms)}, ${exactTime(attempt.at)}
                </span>
              </button>
              ${index === open && html`<${Details} attempt=${attempt} n=${index + 1} />`}
            </li>
          `,
        )}
        ${
          delivery.next_attempt_at &&
          html`<li class="attempt"><${Next} sink=${sink} at=${delivery.next_attempt_at} /></li>`
        }
      </ol>
      ${sink.type === 'webhook' && !attempts.some((one) => one.exchange) && html`<${KeepExchanges} sink=${sink} />`}
      ${attempts.length > 1 && html`<${Comparison} title="Compare two attempts" versions=${attempts.map(versionOf)} />`}
    </div>
  `;
}

/** @param {Attempt} attempt @param {number} index */
const versionOf = (attempt, index) => ({
  key: String(index),
  label: `Attempt ${index + 1}`,
  text: () => attemptText(attempt),
});

/** @param {{attempt: Attempt, n: number}} props */
function Details({ attempt, n }) {
  const what = attempt.status === null ? 'output' : 'answer';
  return html`
    <div class="stack-small">
      ${attempt.error && html`<p class="attempt-error">${withCode(attempt.error)}</p>`}
      ${attempt.output_omitted && OMITTED}
      ${
        attempt.exchange
          ? html`<${ExchangeTabs} attempt=${attempt} exchange=${attempt.exchange} />`
          : attempt.output && html`<${CodeBlock} text=${attempt.output} label=${`${what} of attempt ${n}`} wrap />`
      }
    </div>
  `;
}

/** @param {{sink: Sink, at: string}} props */
function Next({ sink, at }) {
  if (sink.active) return html`<${Countdown} to=${at} />`;
  const { name } = sinkState(sink);
  return html`<p class="small"><${Status}>The next attempt waits: the sink is ${name}</${Status}></p>`;
}

/** @param {{to: string}} props */
function Countdown({ to }) {
  const left = () => Math.ceil((Date.parse(to) - Date.now()) / 1_000);
  const [seconds, setSeconds] = useState(left);
  useEffect(() => {
    setSeconds(left());
    const timer = setInterval(() => setSeconds(left()), 1_000);
    return () => clearInterval(timer);
  }, [to]);
  return html`
    <p class="small">
      <${Status} tone="warn" pulse>
        ${seconds > 0 ? `Next attempt in ${formatDuration(seconds * 1_000)}` : 'The next attempt is due'}
      </${Status}>
      <span class="muted"> ${exactTime(to)}</span>
    </p>
  `;
}

/** @param {{sink: Sink}} props */
function KeepExchanges({ sink }) {
  const [kept, setKept] = useState(sink.delivery?.keep_exchanges === true);
  const keep = useAction(async () => {
    await api.patch(at('/api/event-sinks/{id}', { id: sink.id }), { delivery: { keep_exchanges: true } });
    setKept(true);
  });
  return html`
    <p class="hint">
      ${
        kept
          ? 'Requests and response headers are kept from the next attempt on.'
          : 'Request, response headers and timing of these attempts were not kept.'
      }
    </p>
    ${
      !kept &&
      html`
        <div>
          <${Button} size="small" busy=${keep.busy} onClick=${() => keep.run()}>Keep them from now on</${Button}>
        </div>
      `
    }
    <${ErrorNotice} error=${keep.error} />
  `;
}
