/** A button that signs in with a passkey. */
import { useAction } from '../../lib/action.js';
import { signInWithPasskey } from '../../lib/passkeys.js';
import { html } from '../../lib/preact.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice } from '../../ui/error-notice.js';

/**
 * With a token of a pending sign-in, the passkey is the second factor. Without a token, no other factor is needed.
 * @param {{onDone: () => void, token?: string, children: any}} props
 */
export function PasskeyButton({ onDone, token, children }) {
  const { run, busy, error } = useAction(async () => {
    await signInWithPasskey(token);
    onDone();
  });
  return html`
    <${Button} icon="key" class="button-wide" busy=${busy} onClick=${() => void run()}>${children}</${Button}>
    <${ErrorNotice} error=${error} />
  `;
}
