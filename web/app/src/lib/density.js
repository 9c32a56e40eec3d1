/** Comfortable or compact rows, as the user chose. `boot.js` applies the choice before the first paint. */
import { signal } from './preact.js';

const KEY = 'svc.density';

export const compact = signal(localStorage.getItem(KEY) === 'compact');

/** @param {boolean} chosen */
export function setCompact(chosen) {
  compact.value = chosen;
  if (chosen) {
    localStorage.setItem(KEY, 'compact');
    document.documentElement.dataset.density = 'compact';
  } else {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.density;
  }
}
