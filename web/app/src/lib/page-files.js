/**
 * How the files are served. These are the values of separate files; the build of the binary joins the files and
 * replaces this module.
 */

/** The files of each page by its name, so that a browser requests them together (`preloadPage`).
 * @type {Record<string, string[]>}
 */
export const PAGE_FILES = {};

/** Whether one stylesheet has the rules of all pages. @type {boolean} */
export const STYLES_ARE_JOINED = false;
