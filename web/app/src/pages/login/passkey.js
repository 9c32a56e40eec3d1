/** A button that signs in with a passkey. */
import { useAction } from '../../lib/action.js';
import { signInWithPasskey } from '../../lib/passkeys.js';
import { html } from '../../lib/preact.js';
import { navigate } from '../../router.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice } from '../../ui/error-notice.js';

/** @param {{next: string, token?: string, children: any}} props */
export function PasskeyButton({ next, token, children }) {
  const { run, busy, error } = useAction(async () => {
    await signInWithPasskey(token);
    navigate(next, { replace: true });
  });
  return html`
    <${Button} icon="key" class="button-wide" busy=${busy} onClick=${() => void run()}>${children}</${Button}>
    <${ErrorNotice} error=${error} />
  `;
}
