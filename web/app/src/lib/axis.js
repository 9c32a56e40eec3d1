/** Labels of the axes of a chart. */

/** @typedef {{at: number, label: string}} Tick `at`: the part of the axis before the tick, from 0 to 1 */

const MINUTE_MS = 60_000;
/** Minutes between two ticks. */
const STEPS = [1, 5, 15, 30, 60, 180, 360, 720, 1_440, 2 * 1_440, 7 * 1_440, 28 * 1_440];
const DAY = 1_440;
const WEEK = 7 * DAY;
/** The maximum number of steps on an axis. */
const STEPS_MAX = 7.5;

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short' });
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/**
 * Round times between two times: full hours, days or Mondays in the user's time zone.
 * @param {number} from in milliseconds
 * @param {number} to
 * @returns {Tick[]}
 */
export function timeTicks(from, to) {
  const length = to - from;
  const step = STEPS.find((minutes) => length / (minutes * MINUTE_MS) <= STEPS_MAX);
  if (!(length > 0) || step === undefined) return [];
  const format = step < DAY ? clock : length <= STEPS_MAX * DAY * MINUTE_MS ? weekday : date;
  const start = new Date(from);
  const monday = start.getDate() - ((start.getDay() + 6) % 7);
  const first = step % WEEK === 0 ? monday : start.getDate();
  const found = [];
  for (let minutes = 0; ; minutes += step) {
    // A day may have 23 or 25 hours, so the time is not a multiple of the step after the start.
    const time = new Date(start.getFullYear(), start.getMonth(), first, 0, minutes);
    const at = (time.getTime() - from) / length;
    if (at >= 1) return found;
    if (at > 0) found.push({ at, label: format.format(time) });
  }
}

/**
 * A round value between 30 % and 75 % of the highest value; null if there is none.
 * @param {number} top the highest value
 * @param {boolean} isWhole whether all values are whole numbers
 */
export function valueTick(top, isWhole) {
  if (!(top > 0)) return null;
  const most = top * 0.75;
  const power = 10 ** Math.floor(Math.log10(most));
  const value = ([5, 2, 1].find((digit) => digit * power <= most) ?? 1) * power;
  return isWhole && value < 1 ? null : value;
}
