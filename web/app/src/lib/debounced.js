import { useEffect, useRef, useState } from './preact.js';

/** Pause in typing before the text is passed on. */
const PAUSE_MS = 200;

/**
 * The text of an input field: shown at once, passed to the parent component when typing pauses. A value that the parent
 * sets, for instance by clearing a filter, replaces the typed text.
 * @param {string} value
 * @param {(text: string) => void} onPause
 * @returns {[string, (text: string) => void]}
 */
export function useDebounced(value, onPause) {
  const [text, setText] = useState(value);
  // The last text that was passed to the parent or came from it. When the parent passes it back, nothing has changed.
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
