/** Links to the OpenID Connect providers, on the sign-in page. The form for passwords is always shown too. */
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Button } from '../../ui/button.js';

/** @param {{next: string}} props */
export function ProviderLinks({ next }) {
  const options = useResource('/api/auth/oidc');
  const providers = /** @type {{name: string, label: string}[]} */ (options.data?.providers ?? []);
  if (providers.length === 0) return null;
  return html`
    <div class="stack-small" role="group" aria-label="Sign in with a provider">
      ${providers.map(
        ({ name, label }) => html`
          <${Button} key=${name} href=${startPath(name, next)} icon="key" class="button-wide">
            Sign in with ${label}
          </${Button}>
        `,
      )}
    </div>
    <p class="muted small">Or with a password:</p>
  `;
}

/** The path at which a sign-in begins. @param {string} name @param {string} next */
export const startPath = (name, next) =>
  `/api/auth/oidc/${encodeURIComponent(name)}/start?${new URLSearchParams({ return_to: next })}`;
