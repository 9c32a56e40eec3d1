/**
 * The public JSON API, the only source of data of the interface.
 */

import { reportAnswer, reportSilence } from './connection.js';
import { Refusal } from './errors.js';
import { parseExact } from './exact.js';
import { parseJson } from './json.js';
import { followStream, renewStreams } from './shared-stream.js';

/** @import { paths } from 'api' */
/** @import { Address, Answer, Body, Ids, PathOf, Query } from 'requests' */

/** An error response of the server (problem+json), or a failed connection (status 0). */
export class ApiError extends Error {
  /**
   * @param {object} problem
   * @param {number} problem.status
   * @param {string} [problem.code]
   * @param {string} [problem.title]
   * @param {string} [problem.detail]
   * @param {string} [problem.hint]
   * @param {string} [problem.method] of a request that got no answer
   * @param {number | null} [retryAfter] seconds
   */
  constructor(problem, retryAfter = null) {
    super(problem.detail || problem.title || `The server answered ${problem.status}.`);
    this.name = 'ApiError';
    this.status = problem.status;
    this.code = problem.code ?? 'unknown';
    this.title = problem.title ?? 'Error';
    this.detail = problem.detail ?? this.message;
    // The server's message may already name the seconds.
    const namesDelay = retryAfter === null || this.detail.includes(String(retryAfter));
    this.hint = problem.hint ?? (namesDelay ? '' : `Try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
    this.problem = problem;
  }
}

/**
 * @typedef {object} Options
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers]
 * @property {boolean} [exact] keep as text the numbers that JavaScript would round
 * @property {boolean} [anonymous] show a 401 as an error instead of ending the session
 */

/**
 * Called when the session has ended. Resolves to true once the same user has signed in again: then the request can be
 * repeated.
 * @type {() => Promise<boolean>}
 */
let onUnauthorized = async () => false;

/** @param {() => Promise<boolean>} listener */
export function whenUnauthorized(listener) {
  onUnauthorized = listener;
}

/** Reports that the session has ended. Resolves to true if the same user signs in again. */
export const sessionEnded = () => onUnauthorized();

/**
 * Fills in the ids of a path.
 * @template {keyof paths} P
 * @param {P} path
 * @param {Ids<P>} ids
 */
export function at(path, ids) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[/** @type {keyof Ids<P>} */ (name)]));
  return /** @type {Address<P>} */ (filled);
}

/**
 * Appends a query string to the address of a page, without empty values.
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} query
 */
export function urlOf(path, query) {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') params.set(key, String(value));
  }
  const text = params.toString();
  return text ? path + (path.includes('?') ? '&' : '?') + text : path;
}

/**
 * Appends a query string to a path of the API, without empty values.
 * @template {PathOf<'get'>} P
 * @param {P | Address<P>} path
 * @param {Query<P>} [query]
 */
export const withQuery = (path, query = {}) => /** @type {Address<P>} */ (urlOf(path, query));

/**
 * Returns the response; throws an `ApiError` unless the status is a success.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] a string is sent unchanged, any other value as JSON
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
async function raw(method, path, body, options = {}) {
  const headers = new Headers(options.headers);
  headers.set('Accept', 'application/json');
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers, body: text, signal: options.signal, credentials: 'same-origin' });
  } catch (error) {
    throw unreachable(error, method);
  }
  reportAnswer();
  if (response.ok) return response;
  // The server rejected the request without any effect, so the request can be sent again.
  if (response.status === 401 && !options.anonymous && (await onUnauthorized()))
    return raw(method, path, body, options);
  throw await refusal(response);
}

/** @param {unknown} error @param {string} method @returns {unknown} */
function unreachable(error, method) {
  if (error instanceof DOMException && error.name === 'AbortError') return error;
  reportSilence();
  return new ApiError({
    method,
    status: 0,
    code: 'unreachable',
    title: 'Server unreachable',
    detail: 'The server did not answer. It may be stopped or restarting.',
  });
}

/** @param {Response} response */
async function refusal(response) {
  const problem = await response.json().catch(() => ({}));
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  const title = problem.title ?? (response.statusText || `Error ${response.status}`);
  return new ApiError({ ...problem, title, status: response.status }, Number.isNaN(seconds) ? null : seconds);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {Options} [options]
 * @returns {Promise<any>} the JSON, or null for an empty body
 */
async function json(method, path, body, options) {
  const response = await raw(method, path, body, options);
  const text = await response.text();
  if (!text) return null;
  const parsed = options?.exact ? parseExact(text) : parseJson(text);
  if (!parsed.ok)
    throw new Refusal(`The answer is not JSON: ${parsed.message}`, 'Perhaps a proxy answered instead of the server.');
  return parsed.value;
}

export const api = {
  /**
   * @template {PathOf<'get'>} P
   * @param {P | Address<P>} path
   * @param {Query<P>} [query]
   * @param {Options} [options]
   * @returns {Promise<Answer<P>>}
   */
  get: (path, query, options) => json('GET', withQuery(path, query), undefined, options),
  /**
   * @template {PathOf<'post'>} P
   * @param {P | Address<P>} path
   * @param {Body<P, 'post'>} [body]
   * @param {Options} [options]
   * @returns {Promise<Answer<P, 'post'>>}
   */
  post: (path, body, options) => json('POST', path, body, options),
  /**
   * @template {PathOf<'patch'>} P
   * @param {P | Address<P>} path
   * @param {Body<P, 'patch'>} body
   * @param {Options} [options]
   * @returns {Promise<Answer<P, 'patch'>>}
   */
  patch: (path, body, options) => json('PATCH', path, body, options),
  /**
   * @template {PathOf<'delete'>} P
   * @param {P | Address<P>} path
   * @param {Options} [options]
   * @returns {Promise<Answer<P, 'delete'>>}
   */
  del: (path, options) => json('DELETE', path, undefined, options),
  raw,
  /**
   * Follows a stream of server-sent events. The returned function stops it.
   * @param {string} path
   * @param {(event: import('./stream.js').StreamEvent) => void} onEvent
   * @param {(state: import('./stream.js').StreamState, error?: ApiError) => void} [onState]
   */
  stream: (path, onEvent, onState = () => {}) =>
    followStream(path, {
      onEvent,
      onState: async (state, failure) => {
        if (failure?.status === 401 && (await onUnauthorized())) return renewStreams();
        return onState(state, failure && new ApiError(failure));
      },
      open: (target, options) => raw('GET', target, undefined, { ...options, anonymous: true }),
    }),
};
