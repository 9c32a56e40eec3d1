/** Statistics of a list of recorded calls: durations, calls over time, callers. */

/** @typedef {Pick<import('./words.js').Call, 'at' | 'caller' | 'outcome' | 'duration_ms'>} SummedCall */

/** Upper bounds of the columns of durations, in milliseconds; the last column has no bound. */
const BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/**
 * How many calls took how long. Empty columns at both ends are left out.
 * @param {SummedCall[]} calls
 * @returns {{from: number, to: number | null, count: number}[]} `to`: null for the last column
 */
export function durationColumns(calls) {
  const columns = [...BOUNDS, null].map((to, index) => ({ from: index === 0 ? 0 : BOUNDS[index - 1], to, count: 0 }));
  for (const { duration_ms: ms } of calls) {
    const at = BOUNDS.findIndex((bound) => ms < bound);
    columns[at < 0 ? BOUNDS.length : at].count += 1;
  }
  const first = columns.findIndex(({ count }) => count > 0);
  const last = columns.findLastIndex(({ count }) => count > 0);
  return first < 0 ? [] : columns.slice(first, last + 1);
}

/**
 * Calls and failures in equal parts of a time range.
 * @param {SummedCall[]} calls
 * @param {(call: any) => boolean} isFailure
 * @param {{from: number, to: number, count: number}} parts times in milliseconds
 * @returns {{at: number, total: number, bad: number}[]} `at`: the start of the part
 */
export function timeColumns(calls, isFailure, { from, to, count }) {
  const step = (to - from) / count;
  const columns = Array.from({ length: count }, (_, index) => ({ at: from + index * step, total: 0, bad: 0 }));
  for (const call of calls) {
    const at = Date.parse(call.at);
    if (!(at >= from)) continue;
    // The clock of the server may be ahead, so a call may be later than `to`. The last part counts it.
    const column = columns[Math.min(count - 1, Math.floor((at - from) / step))];
    column.total += 1;
    if (isFailure(call)) column.bad += 1;
  }
  return columns;
}

/**
 * The duration that a share of the calls did not exceed; null without calls.
 * @param {SummedCall[]} calls
 * @param {number} part the share, 0.95 for p95
 */
export function percentile(calls, part) {
  const sorted = calls.map((call) => call.duration_ms).sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? null;
}

/**
 * Who made the calls, most calls first. The calls of all deleted users are one row.
 * @template {SummedCall} C
 * @param {C[]} calls newest first
 * @param {(call: C) => boolean} isFailure
 * @returns {{caller: string | null, calls: number, failed: number, last: string}[]}
 */
export function callersOf(calls, isFailure) {
  /** @type {Map<string | null, {caller: string | null, calls: number, failed: number, last: string}>} */
  const found = new Map();
  for (const call of calls) {
    const row = found.get(call.caller) ?? { caller: call.caller, calls: 0, failed: 0, last: call.at };
    row.calls += 1;
    if (isFailure(call)) row.failed += 1;
    found.set(call.caller, row);
  }
  return [...found.values()].sort((a, b) => b.calls - a.calls);
}
