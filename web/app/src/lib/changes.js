/**
 * Ticked names in a list that other users may change too. Only the changes are kept: saving the whole list would
 * restore names that another user removed in the meantime.
 */

/** True for names to add, false for names to remove. @typedef {Record<string, boolean>} Changes */

/** @param {string[]} names @param {Changes} [changes] @returns {string[]} */
export function withChanges(names, changes = {}) {
  const left = names.filter((name) => !Object.hasOwn(changes, name) || changes[name]);
  const added = Object.keys(changes).filter((name) => changes[name] && !names.includes(name));
  return [...left, ...added];
}

/** @param {string[]} from @param {string[]} to @returns {Changes} */
export function changesBetween(from, to) {
  const gone = from.filter((name) => !to.includes(name)).map((name) => [name, false]);
  const come = to.filter((name) => !from.includes(name)).map((name) => [name, true]);
  return Object.fromEntries([...gone, ...come]);
}

/** Whether the changes would alter the list. @param {string[]} names @param {Changes} [changes] */
export function anyChange(names, changes = {}) {
  return Object.entries(changes).some(([name, on]) => on !== names.includes(name));
}

/**
 * The changes that remain after `saved` was saved. Ticks set during the save remain.
 * @param {Changes} [changes]
 * @param {Changes} [saved]
 * @returns {Changes}
 */
export function withoutSaved(changes = {}, saved = {}) {
  return Object.fromEntries(
    Object.entries(changes).filter(([name, on]) => !Object.hasOwn(saved, name) || saved[name] !== on),
  );
}
