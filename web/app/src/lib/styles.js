/** @type {Map<string, Promise<void>>} */
const loaded = new Map();

/**
 * Loads a stylesheet that only a few pages need: `await loadStyles('methods.css')` at the top of
 * a page's module, so that the page renders with it.
 * @param {string} name a file in styles/
 */
export function loadStyles(name) {
  let ready = loaded.get(name);
  if (!ready) {
    ready = new Promise((resolve) => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = `/web/styles/${name}`;
      link.onload = () => resolve();
      // A page without styles is better than no page.
      link.onerror = () => resolve();
      document.head.append(link);
    });
    loaded.set(name, ready);
  }
  return ready;
}
