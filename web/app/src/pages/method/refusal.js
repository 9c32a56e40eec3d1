/**
 * Whether an error proves that the server refused the call before the method received it. Other errors of the range
 * 5xx can come from a reverse proxy, which gives up on a call that may be running.
 * @param {any} problem what the request threw
 */
export function isRefusal({ status, code }) {
  const ofServer = code !== undefined && code !== 'unknown';
  return (status >= 400 && status < 500) || (status === 503 && ofServer);
}
