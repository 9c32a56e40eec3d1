/** The page of the one-time sign-in link that `svc up` or `svc server start --sign-in-link` prints. */
import { Refusal } from '../lib/errors.js';
import { signInWithLink } from '../lib/me.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { navigate } from '../router.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Logo } from '../ui/icon.js';
import { Loading } from '../ui/spinner.js';

export default function SignInPage() {
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const token = location.hash.slice(1);
    if (!token) {
      setError(new Refusal('This address has no token. Open the whole link that `svc` printed.'));
      return;
    }
    // The token must not stay in the history of the browser.
    history.replaceState(history.state, '', location.pathname);
    signInWithLink(token).then(() => navigate('/', { replace: true }), setError);
  }, []);
  return html`
    <main class="bare">
      <div class="bare-card">
        <${Logo} />
        <h1>Sign in to svc</h1>
        ${
          error
            ? html`
                <${ErrorNotice} error=${error} />
                <${Button} kind="primary" class="button-wide" href="/login">Sign in with a password</${Button}>
              `
            : html`<${Loading} />`
        }
      </div>
    </main>
  `;
}
