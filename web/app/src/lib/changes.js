/**
 * Names that are ticked over a list somebody else may be changing too. Kept as what changes, not as
 * the list it comes to: saving the whole list would bring back what was taken away meanwhile.
 */

/** What is to be in the list, and what is not. @typedef {Record<string, boolean>} Changes */

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

/** Whether anything is left to do. @param {string[]} names @param {Changes} [changes] */
export function anyChange(names, changes = {}) {
  return Object.entries(changes).some(([name, on]) => on !== names.includes(name));
}

/**
 * What is left once these are saved; a tick that was set meanwhile stays.
 * @param {Changes} [changes]
 * @param {Changes} [saved]
 * @returns {Changes}
 */
export function withoutSaved(changes = {}, saved = {}) {
  return Object.fromEntries(
    Object.entries(changes).filter(([name, on]) => !Object.hasOwn(saved, name) || saved[name] !== on),
  );
}
