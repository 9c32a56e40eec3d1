/** The sign-in page. */
import { acceptState } from '../lib/me.js';
import { html, useEffect } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { navigate, useQuery } from '../router.js';
import { findRoute, safeNext } from '../routes.js';
import { CodeBlock } from '../ui/code-block.js';
import { Notice } from '../ui/error-notice.js';
import { Logo } from '../ui/icon.js';
import { LoginForm } from './login/form.js';

export default function LoginPage() {
  const next = safeNext(useQuery().get('next', '/'), location.origin);
  const state = useResource('/api/auth/state');
  const { data } = state;
  const signedIn = Boolean(data?.me);
  useEffect(() => {
    if (!data?.me) return;
    // Public pages such as this one do not load the user, so take the user from the answer.
    acceptState(data.me, data.local_spaces);
    navigate(next, { replace: true });
  }, [signedIn]);
  // Blank until the server answers, fails or is slow, so that the form never appears for a moment to signed-in users.
  const waiting = data === null && !state.error && !state.slow;
  if (waiting || signedIn) return null;
  const empty = data?.setup_needed === true;
  return html`
    <main class="bare">
      <div class="bare-card">
        <${Logo} />
        <h1>Sign in to svc</h1>
        ${
          empty
            ? html`<${NoUsers} />`
            : html`
                <${LoginForm} next=${next} onDone=${() => navigate(next, { replace: true })} />
                <${Destination} next=${next} />
              `
        }
      </div>
      ${
        !empty &&
        html`
          <p class="bare-foot muted small">
            No account yet? An administrator can create one: <code class="nowrap">svc user create</code>
          </p>
        `
      }
    </main>
  `;
}

function NoUsers() {
  return html`
    <${Notice} title="There is no user yet">
      <p>Create the first administrator with the one-time link that the server prints at each start.</p>
    </${Notice}>
    <p class="muted small">It looks like this:</p>
    <${CodeBlock} text=${`${location.origin}/setup?token=svc_set_…`} label="what the link looks like" wrap
      copy=${false} />
    <p class="muted small">If the server is a systemd service, the link is in the journal:</p>
    <${CodeBlock} text="journalctl -u svc | grep setup" label="command that finds the link" prompt />
  `;
}

/** Names the page that opens after the sign-in. @param {{next: string}} props */
function Destination({ next }) {
  if (next === '/') return null;
  const { bare, title } = findRoute(new URL(next, location.origin).pathname);
  return html`
    <p class="muted small">
      ${
        bare
          ? html`After signing in you continue with “${title}”.`
          : html`You will be taken back to <span class="mono anywhere">${next}</span>.`
      }
    </p>
  `;
}
