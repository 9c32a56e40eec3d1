/** The dialog over a page whose session has ended. */
import { me } from './lib/me.js';
import { html, useState } from './lib/preact.js';
import { LoginForm } from './pages/login/form.js';
import { giveUp, resume } from './session.js';
import { Dialog } from './ui/dialog.js';

export default function SessionDialog() {
  // Keep the user whose session ended: signing in replaces `me`.
  const [user] = useState(me.value);
  if (!user) return null;
  const here = location.pathname + location.search;
  return html`
    <${Dialog} title="Your session has ended" locked onClose=${() => {}}>
      <div class="stack">
        <p>Sign in again to go on. The page below, with everything you have typed, stays as it is.</p>
        <${LoginForm} next=${here} username=${user.username} onDone=${() => resume(user.id)} />
        <p class="muted small">
          <button type="button" class="link-button" onClick=${giveUp}>
            Leave this page and sign in as another user
          </button>
        </p>
      </div>
    </${Dialog}>
  `;
}
