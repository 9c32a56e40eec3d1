/** Filters of several pages, stored in the query string. */
import { withQuery } from '../../lib/api.js';
import { useDebounced } from '../../lib/debounced.js';
import { localTime, utcTime } from '../../lib/format.js';
import { can } from '../../lib/me.js';
import { cx, html, useId, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Select, TextInput } from '../../ui/field.js';

/** The filters of a time range. */
export const RANGE_FILTERS = ['range', 'since', 'until'];

const RANGES = /** @type {[string, string, number][]} */ ([
  ['1h', 'Last hour', 3_600_000],
  ['24h', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 604_800_000],
  ['30d', 'Last 30 days', 2_592_000_000],
]);

/**
 * The time range of the request.
 * @param {Record<string, string>} asked
 * @returns {{since?: string, until?: string}}
 */
export function rangeOf({ range, since, until }) {
  const known = RANGES.find(([name]) => name === range);
  if (known) return { since: new Date(Date.now() - known[2]).toISOString() };
  return { since: utcTime(since), until: utcTime(until) };
}

/** A choice of time ranges. For a custom range, two fields for its start and its end. */
export function TimeRange() {
  const query = useQuery();
  const own = query.get('range') === 'own' || Boolean(query.get('since') || query.get('until'));
  const setRange = (/** @type {string} */ range) => query.set({ range, since: null, until: null });
  return html`
    <${Select} label="Time range" value=${own ? 'own' : query.get('range')} onInput=${setRange}
      options=${[
        { value: '', label: 'Any time' },
        ...RANGES.map(([value, label]) => ({ value, label })),
        { value: 'own', label: 'From … to …' },
      ]} />
    ${own && html`<${Moment} name="since" label="From" /><${Moment} name="until" label="To" />`}
  `;
}

/** @param {{name: 'since' | 'until', label: string}} props */
function Moment({ name, label }) {
  const query = useQuery();
  const set = (/** @type {string} */ local) => query.set({ range: 'own', [name]: utcTime(local) });
  return html`
    <${TextInput} label=${label} type="datetime-local" value=${localTime(query.get(name), 'minutes')} onInput=${set} />
  `;
}

/**
 * A text field for a filter that the server applies. The text is passed on when typing pauses.
 * @param {{name: string, label: string, words?: string[], onPause?: (text: string) => void, [attribute: string]:
 *   any}} props `words`: suggestions; `onPause`: receives the text, which is then not put into the query
 */
export function Word({ name, label, words, onPause, ...rest }) {
  const query = useQuery();
  const id = useId();
  const pass = onPause ?? ((/** @type {string} */ value) => query.set({ [name]: value }));
  const [text, setText] = useDebounced(query.get(name), (value) => pass(value.trim()));
  return html`
    <div>
      <${TextInput} label=${label} mono value=${text} onInput=${setText} placeholder="Any" autocomplete="off"
        maxlength="200" list=${words ? id : undefined} ...${rest} />
      ${words && html`<datalist id=${id}>${words.map((word) => html`<option key=${word} value=${word} />`)}</datalist>`}
    </div>
  `;
}

/**
 * A choice of a few words. If the query string has another word, this word is added to the choice.
 * @param {{name: string, label: string, options: (string | {value: string, label: string})[]}} props
 */
export function Choice({ name, label, options }) {
  const query = useQuery();
  const chosen = query.get(name);
  const all = options.map((option) => (typeof option === 'string' ? { value: option, label: option } : option));
  if (chosen && !all.some(({ value }) => value === chosen)) all.push({ value: chosen, label: chosen });
  return html`
    <${Select} label=${label} value=${chosen} options=${[{ value: '', label: 'Any' }, ...all]}
      onInput=${(/** @type {string} */ value) => query.set({ [name]: value })} />
  `;
}

/** A choice of the spaces that the user sees. */
export function SpaceChoice() {
  const spaces =
    useResource(can('use_spaces', 'manage_spaces') ? withQuery('/api/spaces', { limit: 1000 }) : null).data?.spaces ??
    [];
  const options = spaces.map((/** @type {{id: string, name: string}} */ one) => ({ value: one.id, label: one.name }));
  return html`<${Choice} name="space" label="Space" options=${options} />`;
}

/**
 * The filters of a page, and a button that removes them. On a phone, a second button shows and hides them.
 * @param {{label: string, names: string[], dense?: boolean, children: any}} props `names`: the filters in the
 *   query string; `dense`: narrow fields with short labels
 */
export function FilterBar({ label, names, dense = false, children }) {
  const query = useQuery();
  const used = names.filter((name) => query.get(name)).length;
  const [open, setOpen] = useState(used > 0);
  const clear = () => query.set(Object.fromEntries(names.map((name) => [name, null])));
  return html`
    <${Button} class="filters-toggle" icon="filter" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      Filters${used > 0 && ` (${used})`}
    </${Button}>
    <div class=${cx('filters', dense && 'filters-dense', open && 'is-open')} role="search" aria-label=${label}>
      ${children}
      ${used > 0 && html`<${Button} kind="ghost" class="filters-clear" onClick=${clear}>Clear filters</${Button}>`}
    </div>
  `;
}
