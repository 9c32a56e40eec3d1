import { useEffect, useRef, useState } from './preact.js';

/** Typing pauses for this long before the question is asked. */
const SETTLE_MS = 200;

/**
 * A text that is typed freely and handed on once typing pauses. What the owner sets from outside,
 * for instance by clearing a filter, replaces what was typed.
 * @param {string} value
 * @param {(text: string) => void} onSettled
 * @returns {[string, (text: string) => void]}
 */
export function useSettled(value, onSettled) {
  const [text, setText] = useState(value);
  // The last text both sides agree on, so that the owner's echo of it is not taken for a change.
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
