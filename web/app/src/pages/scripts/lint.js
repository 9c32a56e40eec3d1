/** Checks the source of a script while the user types. */
import { api } from '../../lib/api.js';
import { useEffect, useState } from '../../lib/preact.js';
import { placeOf } from './kinds.js';

/** Pause in typing before a check. */
const PAUSE_MS = 600;
/** The server accepts no larger source. */
const SOURCE_MAX = 256 * 1024;

/** @typedef {import('./kinds.js').SourceFault} SourceFault */

/**
 * The problem of a source that was changed; null if there is none, and until the check has ended.
 * @param {string} source
 * @param {boolean} isChanged
 * @returns {SourceFault | null}
 */
export function useLint(source, isChanged) {
  const [found, setFound] = useState(/** @type {{source: string, fault: SourceFault | null} | null} */ (null));
  useEffect(() => {
    if (!isChanged || source.length > SOURCE_MAX) return undefined;
    const aborting = new AbortController();
    const timer = setTimeout(async () => {
      try {
        // Anonymous: a check that the user did not ask for must not open the login dialog.
        const options = { signal: aborting.signal, anonymous: true };
        const { problem } = await api.post('/api/scripts/check', { source }, options);
        setFound({ source, fault: problem === null ? null : { ...placeOf(problem), typed: true } });
      } catch {
        // Without an answer, the problem is found when the script is saved.
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [source, isChanged]);
  return isChanged && found?.source === source ? found.fault : null;
}
