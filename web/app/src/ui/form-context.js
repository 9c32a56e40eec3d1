/** The connection between a form and its fields. */
import { createContext } from '../lib/preact.js';

/**
 * @typedef {object} FormLink
 * @property {(field: import('../lib/form-errors.js').FormField) => () => void} register the returned function removes
 *   the field
 * @property {{id: string, message: any} | null} refused the field that the last error is about
 */

export const FormContext = createContext(/** @type {FormLink | null} */ (null));
