/**
 * The session of the user. When it ends, the page stays as it is below a dialog that asks for the login. After the
 * login, the requests that the server rejected are sent again. Tabs notify each other about sign-ins and sign-outs.
 */
import { forgetDrafts } from './lib/draft.js';
import { loadMe, me } from './lib/me.js';
import { signal } from './lib/preact.js';
import { goToLogin, route } from './router.js';

/** Whether the dialog is shown. */
export const asking = signal(false);

const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel('svc.session') : null;
/** @type {((again: boolean) => void)[]} */
let waiting = [];

/**
 * Resolves to true once the same user has signed in again, or to false if the page is left.
 * @returns {Promise<boolean>}
 */
export async function signInAgain() {
  // The page has nothing to keep: it is still loading, or it needs no user.
  if (!me.value || route.value.open) {
    me.value = null;
    goToLogin();
    return false;
  }
  asking.value = true;
  return new Promise((resolve) => waiting.push(resolve));
}

/** Called after a sign-in in the dialog. @param {string} before the id of the user whose page is shown */
export function resume(before) {
  // Another user has signed in, and the page shows data of the first user.
  if (me.value?.id !== before) return location.reload();
  end(true);
  tabs?.postMessage('signed-in');
  return undefined;
}

/** Leaves the page for the sign-in page. */
export function giveUp() {
  me.value = null;
  end(false);
  goToLogin();
}

/** Notifies the other tabs that the user has signed out: their pages must not stay readable. */
export function signedOut() {
  forgetDrafts();
  tabs?.postMessage('signed-out');
}

/** @param {boolean} again */
function end(again) {
  asking.value = false;
  const resolved = waiting;
  waiting = [];
  for (const resolve of resolved) resolve(again);
}

tabs?.addEventListener('message', async ({ data }) => {
  if (data === 'signed-out' && me.value) {
    forgetDrafts();
    giveUp();
  }
  if (data === 'signed-in' && asking.value) {
    const before = me.value?.id ?? '';
    // If the server does not answer, the dialog stays: the user can sign in here too.
    const now = await loadMe().catch(() => null);
    if (now && now.id !== before) location.reload();
    else if (now) end(true);
  }
});
