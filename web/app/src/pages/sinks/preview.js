/** Applies the patterns and the template of a sink to an event while the user types. Nothing is delivered. */
import { api } from '../../lib/api.js';
import { html, useEffect, useState } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { Icon } from '../../ui/icon.js';
import { exampleType, patternProblem, patternsOf } from '../events/patterns.js';
import { indentJson } from '../events/payload.js';
import { templateOf } from './draft.js';
import { bodyWith, eventMembers } from './event-members.js';
import { SampleFields } from './sample.js';

/** The preview is requested after a pause of this length in typing. */
const SETTLE_MS = 300;

/** @typedef {{body: string, event_type: string, matched_patterns?: string[]}} PreviewResult */
/** @typedef {{result: PreviewResult | null, error: any}} Preview */

/**
 * @param {import('./draft.js').Draft} draft
 * @param {import('./sample.js').Sample} sample
 * @returns {Preview}
 */
export function usePreview(draft, sample) {
  const [state, setState] = useState(/** @type {Preview} */ ({ result: null, error: null }));
  const patterns = patternsOf(draft.patterns);
  const event = eventMembers(sample, exampleType(patterns[0]));
  const usable = patterns.length > 0 && !patternProblem(patterns);
  const ask =
    event &&
    bodyWith(event, {
      type: draft.type,
      patterns: usable ? patterns : undefined,
      body_template: templateOf(draft) ?? undefined,
    });
  useEffect(() => {
    if (!ask) return undefined;
    const request = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setState({ result: await api.post('/api/event-sinks/preview', ask, request), error: null });
      } catch (error) {
        if (!request.signal.aborted) setState((old) => ({ ...old, error }));
      }
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      request.abort();
    };
  }, [ask]);
  return state;
}

/**
 * @param {{draft: import('./draft.js').Draft, preview: Preview, sample: import('./sample.js').Sample, changeSample:
 *   (part: Partial<import('./sample.js').Sample>) => void}} props
 */
export function PreviewCard({ draft, preview, sample, changeSample }) {
  const patterns = patternsOf(draft.patterns);
  const { result, error } = preview;
  const about =
    draft.type === 'script'
      ? 'The event as the script sees it'
      : draft.type === 'json-rpc'
        ? 'Params of the method'
        : 'Body of the request';
  // A template error is shown at the template field.
  const shown = error?.code === 'invalid_template' && draft.templated ? null : error;
  return html`
    <${Card} title="Try it" description="Nothing is sent.">
      <div class="stack">
        <${SampleFields} sample=${sample} change=${changeSample} suggestion=${exampleType(patterns[0])}
          patterns=${patterns} />
        <div class="stack" aria-live="polite">
          <${ErrorNotice} error=${shown} />
          ${result && patterns.length > 0 && html`<${Matches} patterns=${patterns} result=${result} />`}
          ${
            result &&
            html`
              <section class="stack-small">
                <h3>Preview</h3>
                ${
                  error
                    ? html`<p class="muted small">The preview continues when the error is fixed.</p>`
                    : html`
                      <p class="muted small">${about}</p>
                      <${CodeBlock} text=${indentJson(result.body)} language="json" label="preview" wrap />
                    `
                }
              </section>
            `
          }
        </div>
      </div>
    </${Card}>
  `;
}

/** @param {{patterns: string[], result: PreviewResult}} props */
function Matches({ patterns, result }) {
  const matched = result.matched_patterns ?? [];
  return html`
    <section class="stack-small">
      <h3>Patterns</h3>
      <p>
        ${
          matched.length
            ? html`<${Status} tone="good">Takes <code>${result.event_type}</code></${Status}>`
            : html`<${Status} tone="warn">Does not take <code>${result.event_type}</code></${Status}>`
        }
      </p>
      <ul class="matches" aria-label="Patterns tried">
        ${patterns.map((pattern, index) => {
          const hit = matched.includes(pattern);
          return html`
            <li key=${index} class=${hit ? 'match' : 'no-match'}>
              <${Icon} name=${hit ? 'check' : 'minus'} size=${14} />${' '}
              <span class="mono anywhere">${pattern}</span>${' '}
              <span class="small">${hit ? 'matches' : 'does not match'}</span>
            </li>
          `;
        })}
      </ul>
    </section>
  `;
}
