/** Light or dark: the system's setting unless the user chose one. `boot.js` applies it before the first paint. */
import { signal } from './preact.js';

/** @typedef {'system' | 'light' | 'dark'} Theme */

const KEY = 'svc.theme';

/** @type {import('./preact.js').Signal<Theme>} */
export const theme = signal(readTheme());

/** @returns {Theme} */
function readTheme() {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

/** @param {Theme} chosen */
export function setTheme(chosen) {
  theme.value = chosen;
  if (chosen === 'system') {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, chosen);
    document.documentElement.dataset.theme = chosen;
  }
}
