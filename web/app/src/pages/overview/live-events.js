import { api } from '../../lib/api.js';
import { useEffect, useState } from '../../lib/preact.js';

/** @import { EventRecord } from 'api' */

/**
 * The newest events. Events of the stream are added as they arrive. Whenever the stream opens, or reports that it
 * skipped events, the newest events are loaded again, so that no recent event is missing.
 * @param {number} limit
 */
export function useLiveEvents(limit) {
  const [events, setEvents] = useState(/** @type {EventRecord[] | null} */ (null));
  const [state, setState] = useState(/** @type {import('../../lib/stream.js').StreamState} */ ('connecting'));
  const [error, setError] = useState(/** @type {any} */ (null));

  useEffect(() => {
    const leaving = new AbortController();
    const add = (/** @type {EventRecord[]} */ fresh) => setEvents((old) => newest([...fresh, ...(old ?? [])], limit));
    const read = async () => {
      try {
        add((await api.get('/api/events', { limit }, leaving)).events);
        setError(null);
      } catch (failure) {
        if (!leaving.signal.aborted) setError(failure);
      }
    };
    const stop = api.stream(
      '/api/events/stream',
      ({ type, data }) => {
        if (type === 'lagged') void read();
        else if (data?.event_id) add([data]);
      },
      (now, failure) => {
        setState(now);
        if (now === 'open') void read();
        if (now === 'failed') setError(failure);
      },
    );
    return () => {
      stop();
      leaving.abort();
    };
  }, [limit]);
  return { events, state, error };
}

/** Ids are ordered by time. @param {EventRecord[]} events @param {number} limit */
function newest(events, limit) {
  const known = new Map(events.map((event) => [event.event_id, event]));
  return [...known.values()].sort((a, b) => (a.event_id < b.event_id ? 1 : -1)).slice(0, limit);
}
