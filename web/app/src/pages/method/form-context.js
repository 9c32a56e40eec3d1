import { createContext } from '../../lib/preact.js';

/**
 * What every field of one form shares.
 * @typedef {object} FormState
 * @property {import('./schema.js').Schema} root the whole schema, for references
 * @property {boolean} tried a call was tried, so missing values are worth a word
 * @property {(path: string, message: string) => void} report tells of text that is no JSON; '' takes it back
 */

export const FormContext = createContext(/** @type {FormState} */ ({ root: {}, tried: false, report: () => {} }));
