import { formatDuration } from '../../lib/duration.js';
import { cx, html } from '../../lib/preact.js';
import { Status } from '../../ui/badge.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { callerOf, nameOfMethod, outcomeWords } from './words.js';

/** @import { Call } from 'api' */

/**
 * @param {object} props
 * @param {Call[]} props.calls
 * @param {Set<string>} [props.fresh] ids of calls that came while the page was open
 * @param {string} props.opened
 * @param {(id: string) => void} props.onOpen
 * @param {any} props.empty
 * @param {boolean} [props.ofOne] all calls are of one method, so the caller is the first column
 */
export function CallTable({ calls, fresh, opened, onOpen, empty, ofOne = false }) {
  /** @type {import('../../ui/table.js').Column<Call>} */
  const method = {
    key: 'method',
    label: 'Method',
    mono: true,
    cell: (call) => html`<span class=${cx('call-name', fresh?.has(call.id) && 'fresh')}>${nameOfMethod(call)}</span>`,
  };
  /** @type {import('../../ui/table.js').Column<Call>[]} */
  const columns = [
    ...(ofOne ? [] : [method]),
    { key: 'caller', label: 'Caller', mono: true, phone: ofOne ? undefined : 'hidden', cell: callerOf },
    { key: 'outcome', label: 'Outcome', phone: 'line', cell: (call) => html`<${Outcome} call=${call} />` },
    {
      key: 'duration_ms',
      label: 'Took',
      align: 'right',
      shrink: true,
      phone: 'line-aside',
      cell: (call) => formatDuration(call.duration_ms),
    },
    { key: 'at', label: 'When', shrink: true, phone: 'aside', cell: (call) => html`<${Time} value=${call.at} />` },
  ];
  return html`
    <${Table} label="Calls" choosable="calls" columns=${columns}
      rows=${calls} onRow=${(/** @type {Call} */ call) => onOpen(call.id)}
      selected=${(/** @type {Call} */ call) => call.id === opened} empty=${empty} />
  `;
}

/** @param {{call: Call}} props */
export function Outcome({ call }) {
  const { words, tone } = outcomeWords(call.outcome);
  return html`
    <${Status} tone=${tone}>
      ${words}${call.code !== null && html` <span class="call-code">${call.code}</span>`}
    </${Status}>
  `;
}
