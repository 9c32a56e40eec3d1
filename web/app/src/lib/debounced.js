import { useEffect, useRef, useState } from './preact.js';

/** Pause in typing before the text is passed on. */
const PAUSE_MS = 200;

/**
 * A debounced text: typed at once, passed on when typing pauses. A value that the owner sets, for instance by clearing
 * a filter, replaces the typed text.
 * @param {string} value
 * @param {(text: string) => void} onPause
 * @returns {[string, (text: string) => void]}
 */
export function useDebounced(value, onPause) {
  const [text, setText] = useState(value);
  // The last text that both sides share, so that an echo from the owner does not count as a change.
  const shared = useRef(value);
  useEffect(() => {
    if (value === shared.current) return;
    shared.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === shared.current) return undefined;
    const timer = setTimeout(() => {
      shared.current = text;
      onPause(text);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}
