/** @import { Method } from 'api' */

/** Calls in flight; null if the user is not the owner, or no space offers the method. @param {Method} method */
export function inFlight(method) {
  if (!method.providers?.length) return null;
  return method.providers.reduce((sum, provider) => sum + provider.in_flight, 0);
}
