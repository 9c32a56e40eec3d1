/** Whether the server answers. While it does not, the pages show what they knew last, and say so in one place. */
import { signal } from './preact.js';
import { nextWait } from './retry.js';

/** When the server stopped answering, in milliseconds; null while it answers. */
export const silentSince = signal(/** @type {number | null} */ (null));

/** The server did not answer a request. */
export function reportSilence() {
  if (silentSince.value !== null) return;
  silentSince.value = Date.now();
  void probe();
}

/** The server answered a request. */
export function reportAnswer() {
  if (silentSince.value !== null) silentSince.value = null;
}

/** Asks until the server answers: a page without polling would never learn that it does. */
async function probe() {
  for (let wait = nextWait(); silentSince.value !== null; wait = nextWait(wait)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    await fetch('/healthz', { cache: 'no-store', credentials: 'omit' }).then(reportAnswer, () => {});
  }
}
