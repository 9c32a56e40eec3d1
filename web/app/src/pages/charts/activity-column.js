/** A column of a table: a small chart of the calls or attempts of each row in the last 24 hours. */
import { html } from '../../lib/preact.js';
import { Sparkline } from '../../ui/sparkline.js';

/**
 * @template T
 * @param {(row: T) => import('../../lib/activity.js').Series | null | undefined} seriesOf null if the user may not see
 *   the numbers; undefined for a row without calls or attempts
 * @returns {import('../../ui/table.js').Column<T>}
 */
export const activityColumn = (seriesOf) => ({
  key: 'activity',
  label: 'Last 24 h',
  shrink: true,
  phone: 'hidden',
  sort: (row) => seriesOf(row)?.total ?? 0,
  cell: (row) => {
    const series = seriesOf(row);
    if (series === null) return html`<span class="muted" title="Known to the owner only">–</span>`;
    if (!series) return html`<span class="muted small">none</span>`;
    return html`<${Sparkline} values=${series.values} bad=${series.bad} label=${series.label} />`;
  },
});
