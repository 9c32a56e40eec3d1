/** The columns that the user hides in a table, in the local storage of this browser. */
import { signal } from './preact.js';

const PREFIX = 'svc.columns.';

/** Changes with every choice, so that all tables of the page are rendered again. */
const changes = signal(0);

/** @param {string} table @returns {Set<string>} the keys of the hidden columns */
export function hiddenColumns(table) {
  void changes.value;
  return new Set((localStorage.getItem(PREFIX + table) ?? '').split(' ').filter(Boolean));
}

/** Shows a hidden column, or hides a shown one. @param {string} table @param {string} key */
export function toggleColumn(table, key) {
  const hidden = hiddenColumns(table);
  if (!hidden.delete(key)) hidden.add(key);
  if (hidden.size > 0) localStorage.setItem(PREFIX + table, [...hidden].join(' '));
  else localStorage.removeItem(PREFIX + table);
  changes.value += 1;
}
