/**
 * Syntax highlighting: splits a text into tokens, each with a kind. Joining the tokens always yields the text, so a
 * wrong token affects only the colours.
 */

/** @typedef {'python' | 'json' | 'template' | 'shell' | 'toml' | 'javascript'} Language */
/** @typedef {[kind: string, text: string]} Token */

const NUMBER = String.raw`(?<number>-?\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b)`;
const SINGLE_OR_DOUBLE = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
/** The end of the text: `$` would also match the end of a line. */
const END = '(?![^])';
const PYTHON_STRING = `"""[^]*?(?:"""|${END})|'''[^]*?(?:'''|${END})|${SINGLE_OR_DOUBLE}`;

/** A backslash in single quotes is no escape. */
const TOML_STRING = String.raw`"""[^]*?(?:"""|${END})|'''[^]*?(?:'''|${END})|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?`;

const PYTHON_WORDS =
  'and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|' +
  'lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|match|case';
const JS_WORDS =
  'async|await|break|class|const|continue|else|export|extends|for|from|function|if|import|in|let|new|of|return|' +
  'switch|case|throw|try|catch|typeof|while|interface|type';

/** @type {Record<Language, RegExp>} */
const PATTERNS = {
  python: new RegExp(
    [
      String.raw`(?<comment>#[^\n]*)`,
      String.raw`(?<string>\b[rbfuRBFU]{0,2}(?:${PYTHON_STRING})|${PYTHON_STRING})`,
      String.raw`(?<meta>^[ \t]*@[\w.]+)`,
      String.raw`(?<=\b(?:def|class)\s+)(?<name>\w+)`,
      String.raw`(?<keyword>\b(?:${PYTHON_WORDS})\b)`,
      String.raw`(?<literal>\b(?:True|False|None)\b)`,
      NUMBER,
    ].join('|'),
    'gm',
  ),
  json: new RegExp(
    [
      String.raw`(?<key>"(?:[^"\\\n]|\\.)*"(?=\s*:))`,
      String.raw`(?<string>"(?:[^"\\\n]|\\.)*"?)`,
      String.raw`(?<literal>\b(?:true|false|null)\b)`,
      NUMBER,
    ].join('|'),
    'g',
  ),
  template: new RegExp(
    [
      String.raw`(?<comment>\{#[^]*?(?:#\}|$))`,
      String.raw`(?<meta>\$\{\{[^]*?(?:\}\}|$)|\{%[^]*?(?:%\}|$))`,
      String.raw`(?<key>"(?:[^"\\\n$]|\\.)*"(?=\s*:))`,
      String.raw`(?<string>"(?:[^"\\\n$]|\\.|\$(?!\{\{))*"?)`,
      String.raw`(?<literal>\b(?:true|false|null)\b)`,
      NUMBER,
    ].join('|'),
    'g',
  ),
  shell: new RegExp(
    [
      String.raw`(?<comment>(?<=^|\s)#[^\n]*)`,
      String.raw`(?<string>"(?:[^"\\]|\\.)*"?|'[^']*'?)`,
      String.raw`(?<name>\$\{?\w+\}?)`,
      String.raw`(?<keyword>(?<=\s)--?[a-zA-Z][\w-]*)`,
    ].join('|'),
    'gm',
  ),
  toml: new RegExp(
    [
      String.raw`(?<comment>#[^\n]*)`,
      `(?<string>${TOML_STRING})`,
      String.raw`(?<meta>^[ \t]*\[\[?[^\]\n]*\]?\]?)`,
      String.raw`(?<key>^[ \t]*[\w.-]+(?=\s*=))`,
      String.raw`(?<literal>\b(?:true|false)\b)`,
      NUMBER,
    ].join('|'),
    'gm',
  ),
  javascript: new RegExp(
    [
      String.raw`(?<comment>\/\/[^\n]*|\/\*[^]*?(?:\*\/|$))`,
      String.raw`(?<string>\`(?:[^\`\\]|\\.)*\`?|${SINGLE_OR_DOUBLE})`,
      String.raw`(?<keyword>\b(?:${JS_WORDS})\b)`,
      String.raw`(?<literal>\b(?:true|false|null|undefined)\b)`,
      NUMBER,
    ].join('|'),
    'g',
  ),
};

/** Texts with more characters are not highlighted, because it would take too long. */
const LONGEST = 200_000;

/**
 * @param {string} text
 * @param {Language} language
 * @returns {Token[]} the kind is '' for text without a colour
 */
export function highlight(text, language) {
  const pattern = PATTERNS[language];
  if (!pattern || text.length > LONGEST) return [['', text]];
  /** @type {Token[]} */
  const found = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0] === '') continue;
    if (match.index > end) found.push(['', text.slice(end, match.index)]);
    const kind = Object.entries(match.groups ?? {}).find(([, part]) => part !== undefined)?.[0] ?? '';
    found.push([kind, match[0]]);
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push(['', text.slice(end)]);
  return found;
}
