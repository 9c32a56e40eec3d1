/** Formats of values. The API sends times as RFC 3339 in UTC; pages show them in the user's time zone. */
import { formatNumber } from './numbers.js';
import { signal } from './preact.js';

export { formatNumber, plural } from './numbers.js';

/** The current time, updated every few seconds while the tab is visible, so that "2 min ago" stays correct. */
export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 5_000);
document.addEventListener('visibilitychange', () => (now.value = Date.now()));

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** @param {string | number | Date} time */
export const exactTime = (time) => exact.format(new Date(time));
/** @param {string | number | Date} time */
export const dayOf = (time) => day.format(new Date(time));
/** @param {string | number | Date} time */
export const clockTime = (time) => clock.format(new Date(time));

const STEPS = /** @type {[number, string][]} */ ([
  [60, 's'],
  [60, 'min'],
  [24, 'h'],
  [30, 'd'],
]);

/**
 * "just now", "12 s ago", "in 3 d"; a date for times more than a month away.
 * @param {string | number | Date} time
 * @param {number} [from]
 */
export function relativeTime(time, from = now.value) {
  const then = new Date(time).getTime();
  if (Number.isNaN(then)) return String(time);
  let amount = Math.abs(then - from) / 1000;
  if (amount < 5) return 'just now';
  for (const [size, unit] of STEPS) {
    if (amount < size) return then > from ? `in ${Math.floor(amount)} ${unit}` : `${Math.floor(amount)} ${unit} ago`;
    amount /= size;
  }
  return dayOf(then);
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  let amount = bytes;
  for (const unit of ['B', 'KiB', 'MiB']) {
    if (amount < 1024) return `${formatNumber(amount)} ${unit}`;
    amount /= 1024;
  }
  return `${formatNumber(amount)} GiB`;
}

/**
 * A URL from data, if it is safe to use as a link.
 * @param {unknown} text
 * @returns {string | null}
 */
export function safeLink(text) {
  if (typeof text !== 'string' || !/^https?:\/\//i.test(text)) return null;
  return URL.canParse(text) ? text : null;
}

/**
 * A time in the format of a `datetime-local` input: in the user's time zone; '' for an invalid time.
 * @param {string | number} time
 * @param {'minutes' | 'seconds'} precision
 */
export function localTime(time, precision) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString();
  return local.slice(0, precision === 'minutes' ? 16 : 19);
}

/**
 * The value of a `datetime-local` input for the API; undefined for an invalid time.
 * @param {string | undefined} text
 */
export function utcTime(text) {
  return text && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : undefined;
}
