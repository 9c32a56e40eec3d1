/** The filters of calls, stored in the query string. */
import { withQuery } from '../../lib/api.js';
import { html, useMemo } from '../../lib/preact.js';
import { useQuery } from '../../router.js';
import { Choice, FilterBar, RANGE_FILTERS, rangeOf, SpaceChoice, TimeRange, Word } from '../live-list/filters.js';
import { OUTCOME_OPTIONS, VIA_OPTIONS } from './words.js';

/** Filters of the list and of the stream; the stream has no time range. */
const FILTERS = ['method', 'outcome', 'caller', 'owner', 'space', 'via', 'slower'];

export function CallFilters() {
  return html`
    <${FilterBar} dense label="Filters" names=${[...FILTERS, ...RANGE_FILTERS]}>
      <${Choice} name="outcome" label="Outcome" options=${OUTCOME_OPTIONS} />
      <${Word} name="caller" label="Caller" />
      <${Word} name="owner" label="Method owner" />
      <${SpaceChoice} />
      <${Choice} name="via" label="Came by" options=${VIA_OPTIONS} />
      <${Word} name="slower" label="At least, ms" inputmode="numeric" />
      <${TimeRange} />
    </${FilterBar}>
  `;
}

/** The filters in the address: the queries of the list and of the stream, and the problem of an invalid filter. */
export function useCallFilters() {
  const { all } = useQuery();
  const { method, outcome, caller, owner, space, via, slower, range, since, until } = all;
  // Memoised: a moving "last hour" would change the query at every render.
  const times = useMemo(() => rangeOf({ range, since, until }), [range, since, until]);
  const filters = { method, outcome, caller, owner, space_id: space, via, min_duration_ms: slower };
  return {
    filters,
    stream: withQuery('/api/calls/stream', filters),
    list: withQuery('/api/calls', { ...filters, ...times }),
    problem: problemOf(slower),
    isFiltered: FILTERS.some((name) => all[name]),
    isPast: RANGE_FILTERS.some((name) => all[name]),
  };
}

/** @param {string | undefined} slower */
function problemOf(slower) {
  if (!slower || (/^\d{1,9}$/.test(slower) && Number(slower) > 0)) return '';
  return `\`${slower}\` is not a number of milliseconds: write a whole number, such as 500.`;
}
