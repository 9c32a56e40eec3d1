import { useEffect, useRef, useState } from './preact.js';

/** Pause in typing before the text is passed on. */
const SETTLE_MS = 200;

/**
 * A debounced text: typed at once, passed on when typing pauses. A value that the owner sets, for instance by clearing
 * a filter, replaces the typed text.
 * @param {string} value
 * @param {(text: string) => void} onSettled
 * @returns {[string, (text: string) => void]}
 */
export function useSettled(value, onSettled) {
  const [text, setText] = useState(value);
  // The last text that both sides share, so that an echo from the owner does not count as a change.
  const said = useRef(value);
  useEffect(() => {
    if (value === said.current) return;
    said.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === said.current) return undefined;
    const timer = setTimeout(() => {
      said.current = text;
      onSettled(text);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}
