/**
 * How the files are served. The values here are for files that are served one by one, from a folder. The build of the
 * binary joins the files, and replaces this module by one with other values.
 */

/** The files of each page by its name, so that a browser requests them together (`preloadPage`).
 * @type {Record<string, string[]>}
 */
export const PAGE_FILES = {};

/** Whether one stylesheet has the rules of all pages. @type {boolean} */
export const STYLES_ARE_JOINED = false;
