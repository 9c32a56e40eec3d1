/** Parses JSON with error positions, and formats it for people. */

/**
 * @typedef {{ok: true, value: any} | {ok: false, message: string, line: number, column: number}} Parsed
 */

/**
 * @param {string} text
 * @returns {Parsed}
 */
export function parseJson(text) {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    const offset = errorOffset(text);
    const before = text.slice(0, offset).split('\n');
    const line = before.length;
    const column = before[before.length - 1].length + 1;
    return { ok: false, message: `${reason(text, offset, error)} (line ${line}, column ${column})`, line, column };
  }
}

/** @param {string} text @param {number} offset @param {unknown} error */
function reason(text, offset, error) {
  if (text.trim() === '') return 'Nothing is entered';
  if (offset >= text.trimEnd().length) return 'The JSON ends too early';
  if (/["'\w]/.test(text[offset]) || '{}[],:'.includes(text[offset]))
    return `Unexpected ${JSON.stringify(text[offset])}`;
  return /** @type {Error} */ (error).message.replace(/ in JSON.*/, '');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|true\b|false\b|null\b/y;
const SPACE = /[ \t\r\n]*/y;

/**
 * The offset of the first syntax error. Error messages differ between browsers, and not all contain the position.
 * @param {string} text
 */
function errorOffset(text) {
  let at = 0;
  const match = (/** @type {RegExp} */ pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return found !== null;
  };
  const eat = (/** @type {string} */ character) => {
    match(SPACE);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };
  /** @returns {boolean} */
  const members = (/** @type {string} */ close, /** @type {() => boolean} */ member) => {
    if (eat(close)) return true;
    do {
      if (!member()) return false;
    } while (eat(','));
    return eat(close);
  };
  const pair = () => {
    match(SPACE);
    return match(STRING) && eat(':') && value();
  };
  /** @returns {boolean} */
  const value = () => {
    match(SPACE);
    if (eat('{')) return members('}', pair);
    if (eat('[')) return members(']', value);
    return match(STRING) || match(SCALAR);
  };
  value();
  match(SPACE);
  return at;
}

/** @param {unknown} value */
export function prettyJson(value) {
  return JSON.stringify(value, null, 2) ?? 'null';
}

/**
 * A value as one line for a table cell. Payloads may be large and rows render often, so only the visible part is
 * serialised.
 * @param {unknown} value
 * @param {number} [length]
 */
export function briefJson(value, length = 120) {
  let text = '';
  const write = (/** @type {any} */ part) => {
    if (typeof part === 'string') text += JSON.stringify(part.slice(0, length + 1));
    else if (part === null || typeof part !== 'object' || isRawNumber(part)) text += JSON.stringify(part) ?? '';
    else members(part);
  };
  const members = (/** @type {any} */ part) => {
    const list = Array.isArray(part);
    text += list ? '[' : '{';
    let first = true;
    for (const key in part) {
      if (text.length > length) return;
      if (!first) text += ',';
      first = false;
      if (!list) text += `${JSON.stringify(key.slice(0, length + 1))}:`;
      write(part[key]);
    }
    text += list ? ']' : '}';
  };
  write(value);
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** A number that `lib/exact.js` kept as text. @param {object} value */
const isRawNumber = (value) =>
  /** @type {{isRawJSON?: (value: any) => boolean}} */ (/** @type {unknown} */ (JSON)).isRawJSON?.(value) ?? false;
