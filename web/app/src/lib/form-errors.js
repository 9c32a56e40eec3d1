/** Which field of a form an error is about. */

/**
 * A field of a form. `name` is the member of the API, if the label differs.
 * @typedef {{id: string, label: string, name?: string}} FormField
 */

/**
 * The fields that the codes of the API are about, by a part of their label or name.
 * @type {Record<string, string[]>}
 */
const FIELDS_OF_CODES = {
  invalid_name: ['name'],
  name_taken: ['name'],
  invalid_password: ['new password', 'password'],
  wrong_password: ['current password', 'password'],
  invalid_code: ['code'],
  wrong_code: ['code'],
  invalid_pattern: ['patterns'],
  invalid_url: ['url'],
  invalid_header: ['header'],
  invalid_template: ['body template'],
  invalid_secret: ['secret'],
  invalid_schema: ['schema'],
  invalid_script: ['script text', 'source'],
  invalid_redirect: ['return addresses'],
  payload_too_large: ['payload'],
};

/** Errors of the session, of permissions and of the connection are about no field. */
const OTHER_STATUSES = [0, 401, 403, 404, 429];

/**
 * @param {any} error
 * @param {FormField[]} fields in the order of the form
 * @returns {FormField | null}
 */
export function findField(error, fields) {
  const problem = error?.problem ?? {};
  const byCode = FIELDS_OF_CODES[error?.code] ?? [];
  if (!byCode.length && (OTHER_STATUSES.includes(error?.status) || error?.status >= 500)) return null;
  const text = String(error?.detail ?? error?.message ?? '');
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => lastPart(name));
  const named = problem.field ? [lastPart(problem.field)] : [];
  for (const wanted of [...named, ...byCode, ...quoted]) {
    const found = fields.find((field) => isCalled(field, words(wanted)));
    if (found) return found;
  }
  return byWords(text, fields);
}

/** The last part of a path: `url` of `webhook.url`. @param {string} path */
const lastPart = (path) => path.split(/[./]/).at(-1) ?? '';

/** @param {string} text */
const words = (text) => text.toLowerCase().replaceAll(/[_-]+/g, ' ').trim();

/**
 * Whether a field has this name, also as the end of a longer name, like “Group name”.
 * @param {FormField} field
 * @param {string} wanted
 */
function isCalled({ label, name = '' }, wanted) {
  const names = [words(label), words(name)];
  return wanted !== '' && names.some((one) => one === wanted || one.endsWith(` ${wanted}`));
}

/** The field whose label is in the text; the longest label counts. @param {string} text @param {FormField[]} fields */
function byWords(text, fields) {
  const normal = ` ${text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')} `;
  const inText = (/** @type {FormField} */ { label }) =>
    label !== '' && [` ${words(label)} `, ` ${words(label)}s `].some((part) => normal.includes(part));
  const found = fields.filter(inText).sort((a, b) => b.label.length - a.label.length);
  return found[0] ?? null;
}
