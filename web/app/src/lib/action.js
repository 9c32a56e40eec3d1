/** An asynchronous action of a button, with its busy state and its last error. */
import { useRef, useState } from './preact.js';

/**
 * @template {any[]} A
 * @param {(...args: A) => Promise<any>} action
 * @returns {{run: (...args: A) => Promise<boolean>, submit: (event: Event) => void, busy: boolean, error: any,
 *   clear: () => void}} `run` resolves to true on success; a second call while the first runs is ignored. `submit` is
 *   the `onSubmit` of a form, for an action without arguments.
 */
export function useAction(action) {
  const [state, setState] = useState({ busy: false, error: /** @type {any} */ (null) });
  const busy = useRef(false);
  const run = async (/** @type {A} */ ...args) => {
    if (busy.current) return false;
    busy.current = true;
    setState({ busy: true, error: null });
    try {
      await action(...args);
      setState({ busy: false, error: null });
      return true;
    } catch (error) {
      setState({ busy: false, error });
      return false;
    } finally {
      busy.current = false;
    }
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run(.../** @type {any} */ ([]));
  };
  return { ...state, run, submit, clear: () => setState({ busy: false, error: null }) };
}
