/**
 * The only module that imports the vendored runtime. The paths are absolute because `tsconfig.json` maps them to
 * the packages' types, which it cannot do for relative ones.
 */

import htm from '/web/vendor/htm.js';
import { h } from '/web/vendor/preact.js';

export {
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from '/web/vendor/hooks.js';
export { createContext, Fragment, h, render } from '/web/vendor/preact.js';
export {
  computed,
  effect,
  signal,
} from '/web/vendor/signals.js';

/** @typedef {import('/web/vendor/preact.js').ComponentChildren} Children */
/** @typedef {import('/web/vendor/preact.js').VNode<any>} Node */
/**
 * @template T
 * @typedef {import('/web/vendor/signals.js').Signal<T>} Signal
 */

/** Creates elements from a template; interpolated text is never parsed as markup. */
export const html = /** @type {(strings: TemplateStringsArray, ...values: any[]) => Node} */ (
  /** @type {unknown} */ (htm.bind(h))
);

/**
 * Class names from strings and falsy values.
 * @param {...(string | false | null | undefined)} names
 */
export function cx(...names) {
  return names.filter(Boolean).join(' ');
}
