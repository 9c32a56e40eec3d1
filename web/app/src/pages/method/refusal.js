/**
 * Whether an error proves that the server refused the call before the method received it: an error with a status 4xx,
 * or with the status 503 and an error code of the server. Any other 5xx may come from a reverse proxy that stopped
 * waiting while the method still runs.
 * @param {any} problem what the request threw
 */
export function isRefusal({ status, code }) {
  const ofServer = code !== undefined && code !== 'unknown';
  return (status >= 400 && status < 500) || (status === 503 && ofServer);
}
