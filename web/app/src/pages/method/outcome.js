/** The outcome of a call: the result, the method's error, or the reason why there is no answer. */
import { formatDuration } from '../../lib/duration.js';
import { clockTime, formatBytes } from '../../lib/format.js';
import { prettyJson } from '../../lib/json.js';
import { html, useMemo } from '../../lib/preact.js';
import { Badge, Status } from '../../ui/badge.js';
import { Comparison } from '../../ui/compare.js';
import { ErrorNotice, messageOf, Notice } from '../../ui/error-notice.js';
import { JsonView } from '../../ui/json-view.js';
import { Loading, useSlow } from '../../ui/spinner.js';
import { isRefusal } from './refusal.js';

/** @typedef {import('./call.js').Answer} Answer */

/** @param {{call: {busy: boolean, answer: Answer | null, answers: Answer[]}}} props */
export function Outcome({ call }) {
  const slow = useSlow(call.busy);
  return html`
    <section class="outcome stack-small" aria-label="Outcome" aria-live="polite" aria-busy=${call.busy}>
      ${slow ? html`<${Loading} label="Calling" />` : call.answer && html`<${OutcomeView} answer=${call.answer} />`}
    </section>
    ${call.answers.length > 1 && html`<${CompareAnswers} answers=${call.answers} />`}
  `;
}

/** Compares the results of calls that this page made. @param {{answers: Answer[]}} props oldest first */
function CompareAnswers({ answers }) {
  const versions = answers.map((answer) => ({
    key: String(answer.n),
    label: `Call ${answer.n}, ${clockTime(answer.at)}`,
    text: () => answerText(answer),
  }));
  const [before, after] = versions.slice(-2).map(({ key }) => key);
  return html`<${Comparison} title="Compare two results" versions=${versions} chosen=${[before, after]} />`;
}

/** @param {Answer} answer */
function answerText({ outcome }) {
  if ('result' in outcome) return prettyJson(outcome.result);
  return 'error' in outcome ? `Error\n${prettyJson(outcome.error)}` : '';
}

/** @param {{answer: import('./call.js').Answer}} props */
function OutcomeView({ answer }) {
  const { outcome } = answer;
  if ('problem' in outcome) return html`<${NoAnswer} problem=${outcome.problem} />`;
  if ('cancelled' in outcome)
    return html`
      <${Notice} tone="neutral" title="Cancelled">
        <p>If the call reached the method, its work may be done.</p>
      </${Notice}>
    `;
  const facts = html`<span class="muted small">${formatDuration(answer.ms)} · ${formatBytes(answer.bytes)}</span>`;
  if ('error' in outcome) return html`<${Failure} error=${outcome.error} facts=${facts} />`;
  return html`
    <h3 class="outcome-head"><${Status} tone="good">Result</${Status}>${facts}</h3>
    <${Json} value=${outcome.result} label="result" />
  `;
}

/** After an error that is not a refusal, the method may have run. @param {{problem: any}} props */
function NoAnswer({ problem }) {
  if (isRefusal(problem)) return html`<${ErrorNotice} error=${problem} title="The call was not made" />`;
  return html`
    <${ErrorNotice} error=${{ detail: messageOf(problem), hint: 'The method may have completed its work.' }}
      title="No answer came" />
  `;
}

/**
 * Rendered once: the value may be megabytes, and the page renders at every key press.
 * @param {{value: any, label: string}} props
 */
function Json({ value, label }) {
  return useMemo(() => html`<${JsonView} tools value=${value} label=${label} depth=${4} />`, [value, label]);
}

/** @param {{error: {code: number, message: string, data?: any}, facts: any}} props */
function Failure({ error, facts }) {
  const hint = hintOf(error);
  return html`
    <h3 class="outcome-head">
      <${Status} tone="bad">Error</${Status}><${Badge} mono tone="bad">${String(error.code)}</${Badge}>${facts}
    </h3>
    <p class="anywhere strong">${String(error.message)}</p>
    ${hint && html`<p class="muted">${hint}</p>`}
    ${error.data !== undefined && html`<${Json} value=${error.data} label="error data" />`}
  `;
}

/**
 * Explanations of svc's own errors. A method may use the same codes, so `data` is compared too.
 * @param {{code: number, data?: any}} error
 */
function hintOf({ code, data }) {
  const reason = data?.reason;
  if (code === -32601 && data === undefined) return 'The method is gone, or you may not see it any more.';
  if (code === -32000 && reason === 'unavailable')
    return 'No space can take the call now. Nothing was done: try again.';
  if (code === -32001 && reason === 'timeout')
    return data.sent
      ? 'The method did not answer in time. It may have done its work.'
      : 'The call did not get to the method in time. Nothing was done: try again.';
  if (code === -32002 && reason === 'interrupted')
    return 'The method server or its link ended during the call. The method may have done its work.';
  return '';
}
