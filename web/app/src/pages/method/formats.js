/** Checks of the keyword `format` of JSON Schema. Only a hint: the method itself validates params. */

const DATE = /^\d{4}-\d\d-\d\d$/;
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,12})?([Zz]|[+-]\d\d:\d\d)$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @type {Record<string, [test: (text: string) => boolean, message: string]>} */
const FORMATS = {
  email: [isEmail, 'Not an email address.'],
  date: [(text) => DATE.test(text) && isDay(text), 'Not a date such as 2026-11-17.'],
  'date-time': [
    (text) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
    'Not a time such as 2026-11-17T09:30:00Z.',
  ],
  time: [(text) => /^\d\d:\d\d:\d\d/.test(text), 'Not a time such as 09:30:00Z.'],
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
