/** Starts the interface: loads the user, then the page. */
import { whenUnauthorized } from './lib/api.js';
import { loadMe, me, mustEnrol } from './lib/me.js';
import { html, render } from './lib/preact.js';
import { poll } from './lib/resource.js';
import { PageHost } from './page-host.js';
import { goToLogin, route, startRouter } from './router.js';
import { Shell } from './shell.js';
import { PageError } from './ui/error-notice.js';
import { Toasts } from './ui/toasts.js';

/** Interval for reloading the user: roles can change while a page is open. */
const PERMISSIONS_EVERY_MS = 60_000;

function App() {
  const current = route.value;
  if (current.open) return html`<${PageHost} /><${Toasts} />`;
  if (!me.value) return null;
  if (current.bare || mustEnrol()) return html`<${PageHost} /><${Toasts} />`;
  return html`<${Shell}><${PageHost} /></${Shell}><${Toasts} />`;
}

async function start() {
  const root = /** @type {HTMLElement} */ (document.getElementById('app'));
  startRouter();
  whenUnauthorized(() => {
    me.value = null;
    goToLogin();
  });
  try {
    // The module of the page loads while the user is requested.
    if (route.value.open) await null;
    else await Promise.all([loadMe(), route.value.load().catch(() => {})]);
  } catch (error) {
    if (/** @type {any} */ (error).status !== 401) {
      render(html`<main class="bare"><${PageError} error=${error} onRetry=${() => location.reload()} /></main>`, root);
      return;
    }
  }
  render(html`<${App} />`, root);
  poll(async () => {
    if (me.value) await loadMe().catch(() => {});
  }, PERMISSIONS_EVERY_MS);
}

void start();
