/** Whether a sink takes an event, and why: its patterns, its filter and its key. For previews and tests. */
import { html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Icon } from '../../ui/icon.js';
import { withCode } from '../../ui/rich-text.js';

/** @import { PreviewResult } from 'api' */

/** @param {{patterns: string[], filter?: string | null, result: PreviewResult}} props `filter`: its text */
export function Decision({ patterns, filter, result }) {
  const matched = result.matched_patterns ?? [];
  const decided = result.filter;
  const takes = matched.length > 0 && decided?.passes !== false;
  return html`
    <section class="stack-small">
      <h3>Patterns${decided && ' and filter'}</h3>
      <p>
        ${
          takes
            ? html`<${Status} tone="good">Takes <code>${result.event_type}</code></${Status}>`
            : html`<${Status} tone="warn">Does not take <code>${result.event_type}</code></${Status}>`
        }
      </p>
      <ul class="matches" aria-label="Patterns tried">
        ${patterns.map((pattern, index) => {
          const hit = matched.includes(pattern);
          return html`
            <${Line} key=${index} hit=${hit} text=${pattern}>${hit ? 'matches' : 'does not match'}</${Line}>
          `;
        })}
        ${
          decided &&
          html`
            <${Line} hit=${decided.passes} text=${filter ?? 'filter'}>
              ${
                decided.error
                  ? html`fails, so the event is not delivered: ${withCode(decided.error)}`
                  : decided.passes
                    ? 'the filter accepts this event'
                    : 'the filter rejects this event'
              }
            </${Line}>
          `
        }
      </ul>
      ${
        result.key &&
        html`
          <p class="small">
            Delivered in order with events of the key
            ${' '}<code>${result.key.value || '(empty)'}</code>
            ${result.key.error && html`: ${withCode(result.key.error)}`}
          </p>
        `
      }
    </section>
  `;
}

/** @param {{hit: boolean, text: string, children?: any}} props */
function Line({ hit, text, children }) {
  return html`
    <li class=${hit ? 'match' : 'no-match'}>
      <${Icon} name=${hit ? 'check' : 'minus'} size=${14} />${' '}
      <span class="mono anywhere">${text}</span>${' '}
      <span class="small">${children}</span>
    </li>
  `;
}

/**
 * The headers that depend on the format. The usual one alone is not shown.
 * @param {{headers?: Record<string, string>}} props
 */
export function FormatHeaders({ headers = {} }) {
  const rows = Object.entries(headers);
  if (rows.length === 0 || (rows.length === 1 && headers['content-type'] === 'application/json')) return null;
  return html`
    <ul class="small" aria-label="Headers of the format">
      ${rows.map(([name, value]) => html`<li key=${name} class="mono anywhere">${name}: ${value}</li>`)}
    </ul>
  `;
}
