import { useEffect, useRef, useState } from '../../lib/preact.js';

/** Typing pauses for this long before the question is asked. */
const SETTLE_MS = 300;

/**
 * A text that is typed freely and handed on once typing pauses.
 * @param {string} value
 * @param {(text: string) => void} onSettled
 * @returns {[string, (text: string) => void]}
 */
export function useSettled(value, onSettled) {
  const [text, setText] = useState(value);
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
