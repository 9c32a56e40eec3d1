/** Apps that connect by OAuth: their names, what they may do, and where the browser goes afterwards. */

/** The longest name shown. */
const NAME_MAX = 60;

/**
 * The name of an app as one short line: without control characters, without invisible characters that change the
 * direction of the text, and with at most two combining marks in a row.
 * @param {unknown} name
 */
export function displayName(name) {
  const line = String(name ?? '')
    .replace(/\s+/g, ' ')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .trim();
  const letters = [...line];
  if (letters.length === 0) return 'an app without a name';
  return letters.length > NAME_MAX ? `${letters.slice(0, NAME_MAX).join('')}…` : line;
}

/** The actions that each scope allows, as texts for users. @type {Record<string, string>} */
const SCOPES = {
  mcp: 'List and call, as you, the tools (methods) that you can see',
  methods: 'List and call your methods over HTTP',
  cli: 'Everything that you can do, as the command line `svc` on this computer',
};

/** The actions that a scope allows; backticks mark code. @param {string} scope */
export const scopeText = (scope) =>
  Object.hasOwn(SCOPES, scope) ? SCOPES[scope] : `What the scope \`${scope}\` allows`;

const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE = new RegExp(`^([${LETTERS}]{4})([${LETTERS}]{4})$`);

/**
 * The code of a machine in its usual form, `BCDF-GHJK`; null if the text is not a code.
 * @param {string} text
 */
export function userCode(text) {
  const found = CODE.exec(text.toUpperCase().replace(/[\s\p{Pd}]/gu, ''));
  return found ? `${found[1]}-${found[2]}` : null;
}

/** Schemes that open another document, or run code in this page. */
const UNSAFE = ['about:', 'blob:', 'data:', 'file:', 'filesystem:', 'javascript:', 'vbscript:', 'view-source:'];

/**
 * The address to which the browser returns, if it is safe to open. An app may have its own scheme, such as `cursor:`.
 * @param {unknown} text
 * @returns {string | null}
 */
export function safeRedirect(text) {
  if (typeof text !== 'string' || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return UNSAFE.includes(protocol) ? null : href;
}
