/** A short number that differs for most different texts. Not for security. @param {string} text */
export function hashOf(text) {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (hash * 31 + text.charCodeAt(at)) | 0;
  return hash;
}
