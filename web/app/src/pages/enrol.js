/** Shown instead of every page while a role requires a second factor that the user does not have. */
import { loadMe, me, signOut } from '../lib/me.js';
import { hasPasskeys } from '../lib/passkeys.js';
import { html, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { navigate } from '../router.js';
import { BareCard } from '../ui/bare-card.js';
import { SetupPasskey } from './security/passkeys.js';
import { SetupApp } from './security/setup-app.js';

await loadStyles('security.css');

export default function EnrolPage() {
  const [kind, setKind] = useState(/** @type {'app' | 'passkey'} */ ('app'));
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
      <p class="muted">
        A role of yours requires a second factor:
        ${kind === 'app' ? 'a code of an authenticator app on your phone.' : 'a passkey.'}
      </p>
      ${kind === 'app' ? html`<${SetupApp} onDone=${loadMe} />` : html`<${SetupPasskey} onDone=${loadMe} />`}
      ${
        hasPasskeys() &&
        html`
          <p class="muted small">
            <button type="button" class="link-button" onClick=${() => setKind(kind === 'app' ? 'passkey' : 'app')}>
              ${kind === 'app' ? 'Use a passkey instead' : 'Use an authenticator app instead'}
            </button>
          </p>
        `
      }
    </${BareCard}>
  `;
}
