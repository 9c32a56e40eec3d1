/** Temporary errors, and the waits between attempts. */

const FIRST_MS = 1_000;
const LONGEST_MS = 15_000;

/** Whether the server is unreachable or unavailable, so that a later attempt may succeed. @param {any} error */
export const isPassing = (error) => [0, 502, 503, 504].includes(error?.status);

/** The wait before the next attempt, in milliseconds. @param {number} [last] the previous wait */
export const nextWait = (last) => (last ? Math.min(last * 2, LONGEST_MS) : FIRST_MS);
