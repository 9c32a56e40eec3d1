/** Quotes a word for a POSIX shell. @param {string} text */
export function shellQuote(text) {
  return /^[\w./:@%+=-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
