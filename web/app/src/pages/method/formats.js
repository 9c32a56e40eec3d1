/** Checks of the keyword `format` of JSON Schema. Only a hint: the method itself validates params. */

const DATE = /^\d{4}-\d\d-\d\d$/;
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,12})?([Zz]|[+-]\d\d:\d\d)$/;
/** `full-time` of RFC 3339: with seconds and with the offset from UTC. */
const TIME =
  /^(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d):(?<second>[0-5]\d|60)(?:\.\d{1,12})?(?<zone>[Zz]|[+-]\d\d:\d\d)$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @type {Record<string, [test: (text: string) => boolean, message: string]>} */
const FORMATS = {
  email: [isEmail, 'Not an email address.'],
  date: [(text) => DATE.test(text) && isDay(text), 'Not a date such as 2026-11-17.'],
  'date-time': [
    (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
    'Not a time such as 2026-11-17T09:30:00Z.',
  ],
  time: [(text) => TIME.test(text), 'Not a time such as 09:30:00Z.'],
  uri: [
    (text) => /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text),
    'Not an address such as https://example.org.',
  ],
  uuid: [(text) => UUID.test(text), 'Not a UUID.'],
};

/**
 * @param {unknown} format
 * @param {string} text
 * @returns {string} '' for a valid text, and for a format that is not known
 */
export function formatError(format, text) {
  if (typeof format !== 'string' || !Object.hasOwn(FORMATS, format)) return '';
  const [test, message] = FORMATS[format];
  return test(text) ? '' : message;
}

/** One `@` with text on both sides, no white space, and no dot right after the `@`. @param {string} text */
function isEmail(text) {
  const parts = text.split('@');
  return parts.length === 2 && parts.every((part) => part !== '' && !/\s/.test(part)) && !parts[1].startsWith('.');
}

/** Whether the day exists: JavaScript would read 31 February as 3 March. @param {string} text */
function isDay(text) {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

const MINUTES_A_DAY = 24 * 60;

/**
 * A time of day for an `input` of the type `time`, in the local time zone of today. Empty for a text that such an input
 * cannot show.
 * @param {string} text of the format `time`
 * @param {number} [offset] minutes from local time to UTC
 */
export function localTimeOfDay(text, offset = new Date().getTimezoneOffset()) {
  const parts = TIME.exec(text)?.groups;
  // A leap second exists only in UTC.
  if (!parts || parts.second === '60') return '';
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(parts.zone) ?? [];
  const ahead = sign ? Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) : 0;
  return `${shifted(parts.hour, parts.minute, -ahead - offset)}:${parts.second}`;
}

/**
 * The value of such an input as a text of the format `time`, in UTC. Empty for an empty input.
 * @param {string} text
 * @param {number} [offset]
 */
export function utcTimeOfDay(text, offset = new Date().getTimezoneOffset()) {
  const [, hour, minute, second = '00'] = /^(\d\d):(\d\d)(?::(\d\d))?/.exec(text) ?? [];
  return hour ? `${shifted(hour, minute, offset)}:${second}Z` : '';
}

/** Hour and minute after a number of minutes. @param {string} hour @param {string} minute @param {number} by */
function shifted(hour, minute, by) {
  const total = (Number(hour) * 60 + Number(minute) + by + 2 * MINUTES_A_DAY) % MINUTES_A_DAY;
  return [Math.floor(total / 60), total % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
