/** Which scripts import a library. */

/** @import { Script } from 'api' */

/** @typedef {Pick<Script, 'id' | 'name' | 'kind' | 'owner' | 'source'>} Module */

/**
 * The scripts that import a library. A global script imports only global libraries. A user's own library replaces the
 * global one of the same name in the user's scripts.
 * @template {Module} S
 * @param {Module} library
 * @param {S[]} scripts all scripts that the user sees
 * @returns {S[]}
 */
export function importersOf(library, scripts) {
  const isReplaced = scripts.some(
    (one) => one.kind === 'library' && one.owner === 'user' && one.name === library.name && one.id !== library.id,
  );
  const sees = (/** @type {S} */ one) =>
    library.owner === 'global' ? one.owner === 'global' || !isReplaced : one.owner === 'user';
  return scripts.filter((one) => one.id !== library.id && sees(one) && imports(one.source, library.name));
}

/**
 * Whether a source has a line such as `import a, b as c` or `from a import x` for the module.
 * @param {string} source
 * @param {string} module
 */
export function imports(source, module) {
  return source.split('\n').some((line) => {
    const [, from, list] = /^\s*(?:from\s+([\w.]+)\s+import\b|import\s+([^#;]+))/.exec(line) ?? [];
    const names = from ? [from] : (list ?? '').split(',').map((one) => one.trim().split(/\s+/)[0]);
    return names.some((name) => name.split('.')[0] === module);
  });
}
