/** The time that a user has to wait after too many attempts. */
import { useEffect, useState } from './preact.js';

/** Seconds until the server allows another attempt, counting down. @returns {[number, (seconds: number) => void]} */
export function useWait() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (seconds <= 0) return undefined;
    const timer = setTimeout(() => setSeconds(seconds - 1), 1_000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return [seconds, setSeconds];
}
