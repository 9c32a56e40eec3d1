/**
 * Applies the patterns, the filter, the format and the template of a sink to an event while the user types. Nothing is
 * delivered.
 */
import { api } from '../../lib/api.js';
import { html, useEffect, useState } from '../../lib/preact.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { ErrorNotice } from '../../ui/error-notice.js';
import { exampleType, patternProblem, patternsOf } from '../events/patterns.js';
import { indentJson } from '../events/payload.js';
import { Decision, FormatHeaders } from './decision.js';
import { templateOf } from './draft.js';
import { bodyWith, eventMembers } from './event-members.js';
import { SampleFields } from './sample.js';

/** @import { PreviewResult } from 'api' */

/** The preview is requested after a pause of this length in typing. */
const SETTLE_MS = 300;

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
      format: draft.type === 'webhook' ? draft.format : undefined,
      filter: draft.filter || undefined,
      key: draft.key || undefined,
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
          ${
            result &&
            patterns.length > 0 &&
            html`<${Decision} patterns=${patterns} filter=${draft.filter} result=${result} />`
          }
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
                      <${FormatHeaders} headers=${result.format_headers} />
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
