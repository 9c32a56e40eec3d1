/** The params that the form of a method keeps while the tab is open. */
import { signal } from '../../lib/preact.js';

/** @import { Method } from 'api' */

/**
 * Params for the form of a method, until the form takes them.
 * @type {import('../../lib/preact.js').Signal<{name: string, text: string} | null>}
 */
export const filledParams = signal(/** @type {{name: string, text: string} | null} */ (null));

/**
 * The name of the draft; null if the params may have a secret, which must not be stored.
 * @param {Method} method
 */
export function paramsDraft(method) {
  return hasSecrets(method.params_schema) ? null : `params.${method.name}`;
}

/**
 * Fills the form of a method, also if it is opened later. Nothing is stored here: only the form knows whether the
 * params may have a secret.
 * @param {string} method
 * @param {string} text
 */
export function fillParams(method, text) {
  filledParams.value = { name: method, text };
}

/**
 * Whether a schema has a member for a secret, at any depth.
 * @param {any} schema
 * @returns {boolean}
 */
export function hasSecrets(schema) {
  if (schema === null || typeof schema !== 'object') return false;
  if (schema.writeOnly === true || schema.format === 'password') return true;
  return Object.values(schema).some(hasSecrets);
}
