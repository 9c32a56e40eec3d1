/** The event of a preview or test: a past event or a sample. */

import { withQuery } from '../../lib/api.js';
import { relativeTime } from '../../lib/format.js';
import { parseJson } from '../../lib/json.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Select, TextInput } from '../../ui/field.js';
import { patternProblem } from '../events/patterns.js';

/** @import { EventRecord } from 'api' */

const RECENT = 30;

/** @typedef {import('./event-members.js').Sample} Sample */

/** @returns {[Sample, (part: Partial<Sample>) => void]} */
export function useSample() {
  const [sample, setSample] = useState({ eventId: '', type: '', data: '' });
  return [sample, (part) => setSample((old) => ({ ...old, ...part }))];
}

/**
 * @param {{sample: Sample, change: (part: Partial<Sample>) => void, suggestion: string, patterns: string[]}} props
 *   `patterns`: only events that match are offered
 */
export function SampleFields({ sample, change, suggestion, patterns }) {
  const usable = patternProblem(patterns) === '';
  const recent = useResource(withQuery('/api/events', { limit: RECENT, type: usable ? patterns.join(',') : '' }));
  /** @type {EventRecord[]} */
  const events = recent.data?.events ?? [];
  const parsed = sample.data.trim() ? parseJson(sample.data) : null;
  const options = [
    { value: '', label: 'A sample event' },
    ...events.map((event) => ({
      value: event.event_id,
      label: `${event.event_type}, ${relativeTime(event.event_ts)}`,
    })),
  ];
  return html`
    <${Select} label="Sample event" value=${sample.eventId}
      onInput=${(/** @type {string} */ eventId) => change({ eventId })} options=${options} />
    ${
      !sample.eventId &&
      html`
        <${TextInput} label="Event type" mono autocomplete="off" value=${sample.type} placeholder=${suggestion}
          onInput=${(/** @type {string} */ type) => change({ type })} />
        <${CodeEditor} label="Event data" language="json" value=${sample.data}
          onInput=${(/** @type {string} */ data) => change({ data })} rows=${3}
          hint="If empty, the server uses sample data." error=${parsed && !parsed.ok ? parsed.message : ''}
          errorLine=${parsed && !parsed.ok ? parsed.line : null} />
      `
    }
  `;
}
