/** Runs one call at a time, measures it, and aborts it when the page is left. */

import { api } from '../../lib/api.js';
import { Refusal } from '../../lib/errors.js';
import { parseExact } from '../../lib/exact.js';
import { useEffect, useRef, useState } from '../../lib/preact.js';
import { keepSent, newTrace } from '../../lib/sent.js';

/**
 * @typedef {object} Answer
 * @property {number} n the number of the call on this page
 * @property {number} at when the answer came
 * @property {number} ms
 * @property {number} bytes
 * @property {{result: any} | {error: {code: number, message: string, data?: any}} | {problem: any} | {cancelled: true}}
 *   outcome
 */

/** The maximum number of answers that are kept for comparison. */
const ANSWERS_MAX = 10;
/** The maximum size of all kept answers together, in bytes. */
const BYTES_MAX = 4_000_000;

/** @param {string} name @param {{keep: boolean}} options `keep`: remember the params in this tab, to call again */
export function useCall(name, { keep }) {
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState(/** @type {Answer | null} */ (null));
  const [answers, setAnswers] = useState(/** @type {Answer[]} */ ([]));
  const made = useRef(0);
  const running = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => running.current?.abort(), []);

  const run = async (/** @type {string} */ params) => {
    if (running.current) return;
    running.current = new AbortController();
    setBusy(true);
    const { trace, header } = newTrace();
    if (keep) keepSent(trace, params);
    const options = { signal: running.current.signal, headers: { traceparent: header } };
    made.current += 1;
    const came = { ...(await callMethod(name, params, options)), n: made.current, at: Date.now() };
    setAnswer(came);
    if ('result' in came.outcome || 'error' in came.outcome) setAnswers((old) => newest([...old, came]));
    running.current = null;
    setBusy(false);
  };
  return { busy, answer, answers, run, cancel: () => running.current?.abort() };
}

/** The newest answers that may be kept. @param {Answer[]} answers oldest first @returns {Answer[]} */
function newest(answers) {
  let bytes = 0;
  return answers
    .slice(-ANSWERS_MAX)
    .reverse()
    .filter((answer) => {
      bytes += answer.bytes;
      return bytes <= BYTES_MAX;
    })
    .reverse();
}

/**
 * Sends the params as text, so that no number changes.
 * @param {string} name
 * @param {string} params '' for none
 * @param {{signal: AbortSignal, headers: Record<string, string>}} options
 * @returns {Promise<Omit<Answer, 'n' | 'at'>>}
 */
async function callMethod(name, params, options) {
  const body = `{"jsonrpc":"2.0","method":${JSON.stringify(name)},${params && `"params":${params},`}"id":1}`;
  const start = performance.now();
  const since = () => performance.now() - start;
  try {
    const response = await api.raw('POST', '/api/methods/call', body, options);
    const text = await response.text();
    const ms = since();
    const parsed = parseExact(text);
    if (!parsed.ok) throw new Refusal(`The answer is not JSON: ${parsed.message}`);
    const { result, error } = parsed.value;
    return { ms, bytes: new Blob([text]).size, outcome: error ? { error } : { result: result ?? null } };
  } catch (problem) {
    return { ms: since(), bytes: 0, outcome: options.signal.aborted ? { cancelled: true } : { problem } };
  }
}
