/** Statistics of recorded calls: durations, calls over time, calls of callers and credentials. */

/** @import { Call, CallGroup } from 'api' */

/** @typedef {Pick<Call, 'at' | 'caller' | 'outcome' | 'duration_ms'>} SummedCall */

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

/** The label of each kind of credential in the journal. @type {Record<string, string>} */
const KINDS = { token: 'token', app: 'connected app', session: 'browser', agent: 'agent', script: 'script' };

/**
 * The kind and the name of a credential. The names of other users' tokens and apps are unknown, so the name is the end
 * of the id.
 * @param {CallGroup} group
 * @param {Map<string, string>} names of the reader's tokens and apps, by id
 * @param {string | undefined} readerId
 */
export function credentialWords({ caller_id: callerId, credential }, names, readerId) {
  if (!credential) return { kind: 'unknown', name: 'unknown' };
  const { kind, id } = credential;
  const isOwn = callerId === readerId;
  const label = KINDS[kind] ?? kind;
  if (!id) return { kind: label, name: 'without an id' };
  const known = names.get(id);
  if (known !== undefined) return { kind: label, name: known };
  // A token or an app of the reader without a name no longer exists.
  if (isOwn && (kind === 'token' || kind === 'app')) return { kind: label, name: 'revoked' };
  if (isOwn && kind === 'session') return { kind: label, name: 'this interface' };
  // The start of an id is a time, which similar ids share.
  return { kind: label, name: `…${id.slice(-8)}` };
}
