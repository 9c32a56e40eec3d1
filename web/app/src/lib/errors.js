/** Errors in words. Texts of exceptions of the browser are for developers: they go to the console, never to a page. */

/** An error of the interface itself, with a message for people. */
export class Refusal extends Error {
  /** @param {string} message @param {string} [hint] the way out */
  constructor(message, hint = '') {
    super(message);
    this.name = 'Refusal';
    this.detail = message;
    this.hint = hint;
  }
}

const UNEXPECTED = {
  text: 'This part of the page failed.',
  hint: 'Reload the page. If it fails again, report it: the console of the browser has the reason.',
};

/** The exceptions that were written to the console. @type {WeakSet<object>} */
const logged = new WeakSet();

/**
 * The message of an error and the way out. An error with `detail` has a message for people, such as an error of the API
 * or a `Refusal`; every other exception is unexpected.
 * @param {any} error
 * @returns {{text: string, hint: string}}
 */
export function inWords(error) {
  if (typeof error?.detail === 'string') return { text: error.detail, hint: error.hint ?? '' };
  if (error instanceof Object && !logged.has(error)) {
    logged.add(error);
    console.error(error);
  }
  return UNEXPECTED;
}

/**
 * The error of a page or a part of the interface whose files could not be loaded.
 * @param {unknown} cause
 */
export function notLoaded(cause) {
  console.warn(cause);
  return new Refusal(
    'The files of this page did not arrive. The server may be stopped or restarting, or a newer version was installed.',
    'If the server runs, reload the page.',
  );
}
