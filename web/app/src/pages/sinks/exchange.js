/** The request and the response of an attempt, and how long each part of the attempt took. */
import { formatDuration } from '../../lib/duration.js';
import { formatBytes } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { shellQuote } from '../../lib/shell.js';
import { CopyButton } from '../../ui/button.js';
import { KeyValue } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Tabs } from '../../ui/tabs.js';
import { indentJson } from '../events/payload.js';

/** @import { Attempt, Exchange, HeaderField } from 'api' */

/** The server shows this text in place of a secret value. */
const MASK = '********';

const TABS = [
  { id: 'response', label: 'Response' },
  { id: 'request', label: 'Request' },
  { id: 'timing', label: 'Timing' },
];

/** @param {{attempt: Attempt, exchange: Exchange}} props */
export function ExchangeTabs({ attempt, exchange }) {
  const [tab, setTab] = useState('response');
  return html`
    <${Tabs} label="Exchange" tabs=${TABS} value=${tab} onChange=${setTab}>
      ${tab === 'response' && html`<${Response} attempt=${attempt} exchange=${exchange} />`}
      ${tab === 'request' && html`<${Request} exchange=${exchange} />`}
      ${tab === 'timing' && html`<${Timing} timing=${exchange.timing} address=${exchange.remote_address} />`}
    </${Tabs}>
  `;
}

/** @param {{exchange: Exchange}} props */
function Request({ exchange }) {
  const { request } = exchange;
  const kept = new Blob([request.body]).size;
  return html`
    <div class="stack">
      <${KeyValue} items=${[
        ['URL', html`<span class="mono anywhere">${request.url}</span>`],
        ['Request', html`<span class="mono anywhere">${request.line}</span>`],
      ]} />
      <${Headers} headers=${request.headers} of="request" />
      <${CodeBlock} text=${indentJson(request.body)} language="json" label="request body" wrap />
      ${
        kept < request.body_bytes &&
        html`<p class="hint">The first ${formatBytes(kept)} of ${formatBytes(request.body_bytes)} are kept.</p>`
      }
      <div><${CopyButton} text=${() => curlOf(exchange)}>Copy as curl</${CopyButton}></div>
    </div>
  `;
}

/** @param {{attempt: Attempt, exchange: Exchange}} props */
function Response({ attempt, exchange }) {
  if (!exchange.response) return html`<p class="muted">No response arrived.</p>`;
  return html`
    <div class="stack">
      <${Headers} headers=${exchange.response.headers} of="response" />
      ${
        attempt.output
          ? html`<${CodeBlock} text=${indentJson(attempt.output)} label="response body" wrap />`
          : html`<p class="muted small">The body is empty.</p>`
      }
    </div>
  `;
}

/** @param {{headers: HeaderField[], of: string}} props */
function Headers({ headers, of }) {
  if (headers.length === 0) return html`<p class="muted small">No headers.</p>`;
  return html`
    <dl class="headers mono" aria-label=${`Headers of the ${of}`}>
      ${headers.map(
        (header, index) =>
          html`<div key=${index}><dt>${header.name}</dt><dd class="anywhere">${header.value}</dd></div>`,
      )}
    </dl>
  `;
}

/**
 * The parts of an attempt, in the order in which they happen. `first_byte` is the time from the start of the request to
 * the head of the response.
 * @type {[keyof Exchange['timing'], string][]}
 */
const PARTS = [
  ['dns', 'Look up the address'],
  ['connect', 'Connect'],
  ['tls', 'TLS'],
  ['first_byte', 'Wait for the response'],
];

/**
 * @param {Exchange['timing']} timing
 * @returns {{label: string, start: number, ms: number}[]} each part starts when the one before ends; the last
 *   row is the time for reading the body
 */
export function timingRows(timing) {
  let start = 0;
  const rows = [];
  for (const [name, label] of PARTS) {
    const ms = timing[name];
    if (typeof ms !== 'number') continue;
    rows.push({ label, start, ms });
    start += ms;
  }
  rows.push({ label: 'Read the body', start, ms: Math.max(timing.total - start, 0) });
  return rows;
}

/** @param {{timing: Exchange['timing'], address?: string}} props */
function Timing({ timing, address }) {
  const total = Math.max(timing.total, 0.001);
  const share = (/** @type {number} */ ms) => Math.min((ms / total) * 100, 100);
  return html`
    <div class="stack">
      <ul class="timing" aria-label="Timing">
        ${timingRows(timing).map(
          (row) => html`
            <li key=${row.label}>
              <span>${row.label}</span>
              <svg class="timing-line" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="timing-track" width="100" height="6" />
                <rect class="timing-bar" x=${share(row.start)} width=${Math.max(share(row.ms), 0.5)} height="6" />
              </svg>
              <span class="mono small">${formatDuration(row.ms)}</span>
            </li>
          `,
        )}
      </ul>
      <p class="small">
        Total ${formatDuration(timing.total)}.
        ${typeof timing.connect !== 'number' && ' An open connection was used.'}
        ${address && html` Sent to <span class="mono">${address}</span>.`}
      </p>
    </div>
  `;
}

/** The request as a command; values that the server masks are placeholders. @param {Exchange} exchange */
export function curlOf({ request }) {
  const lines = [`curl -sS -X POST ${shellQuote(request.url)}`];
  for (const { name, value } of request.headers) {
    if (['host', 'content-length', 'connection', 'accept-encoding'].includes(name.toLowerCase())) continue;
    lines.push(`  -H ${shellQuote(`${name}: ${value.replaceAll(MASK, `<${name}>`)}`)}`);
  }
  lines.push(`  --data-binary ${shellQuote(request.body)}`);
  return lines.join(' \\\n');
}

/** An attempt as text, to compare two of them. @param {Attempt} attempt */
export function attemptText(attempt) {
  const { exchange } = attempt;
  const headers = (/** @type {HeaderField[]} */ list) => list.map(({ name, value }) => `${name}: ${value}`);
  return [
    ...(exchange
      ? [exchange.request.line, ...headers(exchange.request.headers), '', indentJson(exchange.request.body), '']
      : []),
    attempt.status === null ? 'No status' : `HTTP ${attempt.status}`,
    ...headers(exchange?.response?.headers ?? []),
    ...(attempt.error ? [`Error: ${attempt.error}`] : []),
    '',
    indentJson(attempt.output ?? ''),
  ].join('\n');
}
