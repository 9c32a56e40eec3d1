/** Starts the interface: loads the user and the module of the page, then shows the page. */
import { whenUnauthorized } from './lib/api.js';
import { loadMe, me, mustEnrol } from './lib/me.js';
import { html, render, useEffect, useState } from './lib/preact.js';
import { poll } from './lib/resource.js';
import { isPassing, nextWait } from './lib/retry.js';
import { PageHost } from './page-host.js';
import { route, startRouter } from './router.js';
import { asking, signInAgain } from './session.js';
import { Shell } from './shell.js';
import { PageError } from './ui/error-notice.js';
import { Toasts } from './ui/toasts.js';

/** Interval for reloading the user: roles can change while a page is open. */
const PERMISSIONS_EVERY_MS = 60_000;

function App() {
  const current = route.value;
  if (current.open) return html`<${PageHost} /><${Toasts} />`;
  if (!me.value) return null;
  if (current.bare || mustEnrol()) return html`<${PageHost} /><${Toasts} /><${Session} />`;
  return html`<${Shell}><${PageHost} /></${Shell}><${Toasts} /><${Session} />`;
}

/** The dialog of an ended session; its module is loaded when it is needed. */
function Session() {
  const [dialog, setDialog] = useState(/** @type {{Dialog: any} | null} */ (null));
  const shown = asking.value;
  useEffect(() => {
    if (shown && !dialog) import('./session-dialog.js').then((module) => setDialog({ Dialog: module.default }));
  }, [shown]);
  return shown && dialog ? html`<${dialog.Dialog} />` : null;
}

async function start() {
  const root = /** @type {HTMLElement} */ (document.getElementById('app'));
  startRouter();
  whenUnauthorized(signInAgain);
  // The frame in the HTML file stays until there is a view to show.
  const show = (/** @type {any} */ view) => {
    if (root.querySelector('.first-shell')) root.replaceChildren();
    render(view, root);
  };
  for (let wait = nextWait(); !route.value.open; wait = nextWait(wait)) {
    try {
      // The module of the page loads while the user is requested.
      await Promise.all([loadMe(), route.value.load().catch(() => {})]);
      break;
    } catch (error) {
      if (/** @type {any} */ (error).status === 401) break;
      const retry = () => location.reload();
      show(
        html`<main class="bare"><${PageError} error=${error} onRetry=${retry} retries=${isPassing(error)} /></main>`,
      );
      if (!isPassing(error)) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  show(html`<${App} />`);
  poll(async () => {
    if (me.value && !asking.value) await loadMe().catch(() => {});
  }, PERMISSIONS_EVERY_MS);
}

void start();
