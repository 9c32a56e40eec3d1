/**
 * The files of each page: modules and stylesheets by the name of the page. Empty here; the build of the binary fills
 * it, so that a browser requests all files of a page at once (`preloadPage`).
 * @type {Record<string, string[]>}
 */
export const PAGE_FILES = {};
