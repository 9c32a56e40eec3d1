/** How many past events match, over time. A click on a bar narrows the time range. */
import { withQuery } from '../../lib/api.js';
import { timeTicks } from '../../lib/axis.js';
import { exactTime, formatNumber, plural } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { useQuery } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Bars, ChartCard } from '../../ui/chart.js';
import { pendingOf } from '../../ui/error-notice.js';

/** @import { EventHistogram } from 'api' */
/** @import { Query } from 'requests' */

/** @param {{query: Query<'/api/events/histogram'>}} props the filters of the history */
export function Histogram({ query }) {
  const address = withQuery('/api/events/histogram', query);
  const loaded = useResource(address);
  const pending = pendingOf(loaded);
  if (pending || !loaded.data) return pending;
  if (loaded.data.total === 0) return null;
  return html`<${Chart} key=${address} data=${loaded.data} />`;
}

/** @param {{data: EventHistogram}} props */
function Chart({ data }) {
  const query = useQuery();
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { counts, total } = data;
  const [since, until] = [Date.parse(data.since), Date.parse(data.until)];
  const step = (until - since) / counts.length;
  const startOf = (/** @type {number} */ index) => since + index * step;
  const shown = at === null ? total : counts[at];
  const zoom = (/** @type {number} */ index) =>
    query.set({
      range: 'own',
      since: new Date(startOf(index)).toISOString(),
      until: new Date(startOf(index + 1)).toISOString(),
    });
  const busiest = counts.indexOf(Math.max(...counts));
  return html`
    <${ChartCard} title="Events over time" value=${formatNumber(shown)} count=${counts.length} onPoint=${setAt}
      when=${at === null ? '' : `from ${exactTime(startOf(at))}`}
      note=${
        data.counted_since ? `Since ${exactTime(data.counted_since)}; older events are not counted.` : 'matching events'
      }
      top=${Math.max(...counts)} axis=${[exactTime(since), exactTime(until)]} ticks=${timeTicks(since, until)}
      label=${`Events from ${exactTime(since)} to ${exactTime(until)}: ${plural(total, 'event')}`}
      onChoose=${zoom}
      table=${{
        head: ['From', 'Events'],
        rows: counts
          .map((count, index) => [exactTime(startOf(index)), formatNumber(count), String(count)])
          .filter(([, , count]) => count !== '0')
          .map(([from, count]) => [from, count]),
      }}>
      <${Bars} at=${at} bars=${counts.map((count, index) => ({ key: String(index), total: count }))} />
    </${ChartCard}>
    <p>
      <${Button} size="small" onClick=${() => zoom(busiest)}>Show only the busiest part</${Button}>
    </p>
  `;
}
