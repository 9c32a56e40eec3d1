/** The answer to an app or a machine: Allow or Cancel. */
import { useAction } from '../../lib/action.js';
import { me, signOut } from '../../lib/me.js';
import { html, useEffect, useRef, useState } from '../../lib/preact.js';
import { goToLogin } from '../../router.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice } from '../../ui/error-notice.js';

/** Delay before "Allow" reacts. */
const ARM_MS = 500;

/**
 * @param {{onAnswer: (approve: boolean) => Promise<void>, mayAllow?: boolean}} props `onAnswer` throws the error to
 *   show; without `mayAllow` there is only "Cancel"
 */
export function Decision({ onAnswer, mayAllow = true }) {
  const armed = useArmed();
  const [chosen, setChosen] = useState(/** @type {boolean | null} */ (null));
  const { run, busy, error } = useAction(async (/** @type {boolean} */ approve) => {
    setChosen(approve);
    await onAnswer(approve);
  });
  return html`
    <${ErrorNotice} error=${error} />
    <div class="decision">
      <${Button} busy=${busy && chosen === false} disabled=${busy} onClick=${() => run(false)}>Cancel</${Button}>
      ${
        mayAllow &&
        html`
          <${Button} kind="primary" busy=${busy && chosen === true} disabled=${busy}
            aria-disabled=${!armed.value || undefined} onClick=${() => armed.now() && run(true)}>
            Allow
          </${Button}>
        `
      }
    </div>
  `;
}

/**
 * False for half a second after the page appears and after each return to its window. A click that was meant for
 * something else, such as the second click of a double click on a window above this one, must not allow anything.
 * @returns {{value: boolean, now: () => boolean}} `now` is exact even if the page was not drawn again yet
 */
function useArmed() {
  const [value, setValue] = useState(false);
  const current = useRef(false);
  useEffect(() => {
    let timer = 0;
    const set = (/** @type {boolean} */ to) => {
      current.current = to;
      setValue(to);
    };
    const arm = () => {
      set(false);
      window.clearTimeout(timer);
      timer = window.setTimeout(() => set(true), ARM_MS);
    };
    arm();
    window.addEventListener('focus', arm);
    document.addEventListener('visibilitychange', arm);
    return () => {
      window.clearTimeout(timer);
      window.removeEventListener('focus', arm);
      document.removeEventListener('visibilitychange', arm);
    };
  }, []);
  return { value, now: () => current.current };
}

/** The signed-in user, and a button that signs out, to answer as another user. */
export function You() {
  const { run, busy, error } = useAction(async () => {
    await signOut();
    goToLogin();
  });
  return html`
    <span class="row">
      <strong class="mono anywhere">${me.value?.username}</strong>
      <button type="button" class="link-button" disabled=${busy} onClick=${() => run()}>Not you? Sign out</button>
    </span>
    <${ErrorNotice} error=${error} />
  `;
}
