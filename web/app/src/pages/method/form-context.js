import { createContext } from '../../lib/preact.js';

/**
 * Values shared by all fields of a form.
 * @typedef {object} FormState
 * @property {import('./schema.js').Schema} root the whole schema, for references
 * @property {boolean} tried the user tried to call, so missing values are reported
 * @property {any} Field the component that shows a field for any schema. Fields that contain fields get it here: an
 *   import would make a cycle of modules
 * @property {(path: string, message: string) => void} report reports invalid JSON of a field; '' clears the report
 */

export const FormContext = createContext(
  /** @type {FormState} */ ({ root: {}, tried: false, Field: null, report: () => {} }),
);
