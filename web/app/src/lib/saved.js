/**
 * Params that the user saved by name for a method, in the local storage of this browser. They stay after a sign-out, so
 * params with secrets must never be saved.
 */
import { Refusal } from './errors.js';
import { me } from './me.js';

/** The maximum number of saved requests of one user in one browser. */
const SAVED_MAX = 100;
/** The maximum number of characters of the params of one request. */
const SIZE_MAX = 20_000;

/** @typedef {{method: string, name: string, params: string}} SavedRequest */

const key = () => `svc.saved.${me.value?.id}`;

/** @param {string} method @returns {SavedRequest[]} by name */
export function savedOf(method) {
  return all()
    .filter((saved) => saved.method === method)
    .sort((a, b) => a.name.localeCompare(b.name));
}

/**
 * Saves params, and replaces params of the same name. Throws a message for the user if the params do not fit.
 * @param {SavedRequest} saved
 */
export function save(saved) {
  if (saved.params.length > SIZE_MAX)
    throw new Refusal(`The params have ${saved.params.length} characters. At most ${SIZE_MAX} can be saved.`);
  const others = without(saved);
  if (others.length >= SAVED_MAX)
    throw new Refusal(`This browser holds ${SAVED_MAX} saved requests. Remove one to save another.`);
  write([...others, saved]);
}

/** @param {{method: string, name: string}} saved */
export function removeSaved(saved) {
  write(without(saved));
}

/** @param {{method: string, name: string}} saved */
const without = ({ method, name }) => all().filter((one) => one.method !== method || one.name !== name);

/** @returns {SavedRequest[]} */
function all() {
  try {
    const list = JSON.parse(localStorage.getItem(key()) ?? '[]');
    return Array.isArray(list) ? list.filter(isSaved) : [];
  } catch {
    return [];
  }
}

/** @param {any} one */
const isSaved = (one) => ['method', 'name', 'params'].every((member) => typeof one?.[member] === 'string');

/** @param {SavedRequest[]} list */
function write(list) {
  try {
    localStorage.setItem(key(), JSON.stringify(list));
  } catch {
    throw new Refusal('The storage of this browser is full.');
  }
}
