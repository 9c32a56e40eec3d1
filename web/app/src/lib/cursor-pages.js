/** A long list of the API. Only one page of the list is in the document. */
import { withQuery } from './api.js';
import { useState } from './preact.js';
import { useResource } from './resource.js';

/** @import { Address, Answer, PathOf } from 'requests' */

/**
 * @template {any} T
 * @typedef {object} CursorPages
 * @property {import('./resource.js').Resource<T>} resource the page that is shown
 * @property {number} number of the page, from 1
 * @property {boolean} complete whether the first page has the whole list
 * @property {boolean} turning another page was requested
 * @property {(() => void) | null} previous
 * @property {(() => void) | null} next
 */

/**
 * @template {PathOf<'get'>} P
 * @param {P | Address<P> | null} address of the list, with its filters and `limit`; null to load nothing
 * @param {{every?: number}} [options]
 * @returns {CursorPages<Answer<P>>}
 */
export function useCursorPages(address, { every = 0 } = {}) {
  // The cursors of the pages from the second to the current one. The first page has none.
  const [place, setPlace] = useState({ address, cursors: /** @type {string[]} */ ([]) });
  // When the filters change, the first page is shown.
  const cursors = place.address === address ? place.cursors : [];
  const resource = useResource(
    address === null ? null : withQuery(address, /** @type {any} */ ({ cursor: cursors.at(-1) })),
    { every },
  );
  const list = /** @type {{next_cursor?: string | null} | null} */ (resource.data);
  const next = resource.current ? (list?.next_cursor ?? null) : null;
  const turn = (/** @type {string[]} */ to) => setPlace({ address, cursors: to });
  return {
    resource,
    number: cursors.length + 1,
    complete: cursors.length === 0 && !list?.next_cursor,
    turning: resource.loading && !resource.current,
    previous: cursors.length > 0 ? () => turn(cursors.slice(0, -1)) : null,
    next: next === null ? null : () => turn([...cursors, next]),
  };
}
