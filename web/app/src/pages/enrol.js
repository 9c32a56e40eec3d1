/** Shown instead of every page while a role requires a second factor that the user does not have. */
import { loadMe, me, signOut } from '../lib/me.js';
import { html } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { navigate } from '../router.js';
import { BareCard } from '../ui/bare-card.js';
import { SetupApp } from './security/setup-app.js';

await loadStyles('security.css');

export default function EnrolPage() {
  const leave = async () => {
    await signOut();
    navigate('/login', { replace: true });
  };
  return html`
    <${BareCard} wide title="Set up a second factor"
      foot=${html`
        Signed in as ${me.value?.username}.
        <button type="button" class="link-button" onClick=${leave}>Sign out</button>
      `}>
      <p class="muted">A role of yours requires a second factor: a code of an authenticator app on your phone.</p>
      <${SetupApp} onDone=${loadMe} />
    </${BareCard}>
  `;
}
