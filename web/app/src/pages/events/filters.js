/** The filters of past events, stored in the query string. */
import { useDebounced } from '../../lib/debounced.js';
import { can } from '../../lib/me.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Select, TextInput } from '../../ui/field.js';
import { Moment, RANGES } from '../audit/filters.js';

/** Filters that need the history: the stream of new events does not support them. */
export const HISTORY_FILTERS = ['range', 'since', 'until', 'actor', 'text'];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @param {{onOpen: (id: string) => void}} props `onOpen`: opens the event with this id */
export function EventFilters({ onOpen }) {
  const query = useQuery();
  const own = query.get('range') === 'own' || Boolean(query.get('since') || query.get('until'));
  const setRange = (/** @type {string} */ range) => query.set({ range, since: null, until: null });
  const search = (/** @type {string} */ text) => {
    if (UUID.test(text)) onOpen(text.toLowerCase());
    else query.set({ text });
  };
  const clear = () => query.set(Object.fromEntries([...HISTORY_FILTERS, 'space'].map((name) => [name, null])));
  return html`
    <div class="event-filters" role="search" aria-label="Search past events">
      <${Word} label="Payload contains, or event id" value=${query.get('text')} onPause=${search} />
      <${Word} label="Emitted by" value=${query.get('actor')}
        onPause=${(/** @type {string} */ actor) => query.set({ actor })} />
      <${Spaces} />
      <${Select} label="Time range" value=${own ? 'own' : query.get('range')} onInput=${setRange}
        options=${[
          { value: '', label: 'Any time' },
          ...RANGES.map(([value, label]) => ({ value, label })),
          { value: 'own', label: 'From … to …' },
        ]} />
      ${own && html`<${Moment} name="since" label="From" /><${Moment} name="until" label="To" />`}
      ${
        [...HISTORY_FILTERS, 'space'].some((name) => query.get(name)) &&
        html`<${Button} kind="ghost" class="event-filters-clear" onClick=${clear}>Clear filters</${Button}>`
      }
    </div>
  `;
}

/** @param {{label: string, value: string, onPause: (text: string) => void}} props */
function Word({ label, value, onPause }) {
  const [text, setText] = useDebounced(value, (next) => onPause(next.trim()));
  return html`
    <${TextInput} label=${label} mono value=${text} onInput=${setText} placeholder="Any" autocomplete="off"
      maxlength="200" />
  `;
}

function Spaces() {
  const query = useQuery();
  const spaces = useResource(can('use_spaces', 'manage_spaces') ? '/api/spaces?limit=1000' : null).data?.spaces ?? [];
  const chosen = query.get('space');
  const options = spaces.map((/** @type {{id: string, name: string}} */ one) => ({ value: one.id, label: one.name }));
  if (chosen && !options.some((/** @type {{value: string}} */ one) => one.value === chosen))
    options.push({ value: chosen, label: chosen });
  return html`
    <${Select} label="Space" value=${chosen} options=${[{ value: '', label: 'Any' }, ...options]}
      onInput=${(/** @type {string} */ space) => query.set({ space })} />
  `;
}
