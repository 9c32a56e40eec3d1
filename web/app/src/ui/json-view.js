/**
 * A collapsible JSON value, built from elements: strings are never parsed as markup. With `tools`, users search in it,
 * copy the path of a member, and download the value.
 */
import { download } from '../lib/download.js';
import { isNumber } from '../lib/exact.js';
import { plural } from '../lib/format.js';
import { prettyJson } from '../lib/json.js';
import { FOUND_MAX, isBranch, pathText, searchJson } from '../lib/json-paths.js';
import { createContext, cx, html, useContext, useMemo, useState } from '../lib/preact.js';
import { CopyButton, IconButton } from './button.js';
import { Icon } from './icon.js';
import { SearchInput } from './search-input.js';

/** @typedef {import('../lib/json-paths.js').Path} Path */

/** Members shown at once; a button shows more. */
const PIECE = 100;

/**
 * `found`: the paths that a search found and their parents; null without a search.
 * @typedef {{selected: string, onSelect: (path: string) => void, found: Set<string> | null, hits: Set<string>}} View
 */

const ViewContext = createContext(
  /** @type {View} */ ({ selected: '', onSelect: () => {}, found: null, hits: new Set() }),
);

/**
 * @param {{value: any, label?: string, depth?: number, copy?: boolean, tools?: boolean}} props `depth`: levels expanded
 *   at first
 */
export function JsonView({ value, label = 'JSON', depth = 2, copy = true, tools = false }) {
  const [selected, setSelected] = useState('');
  const [text, setText] = useState('');
  const search = useMemo(() => (text ? searchJson(value, text) : null), [value, text]);
  const view = useMemo(() => {
    const hits = new Set((search?.found ?? []).map(pathText));
    return { selected, onSelect: setSelected, hits, found: search && withParents(search.found) };
  }, [search, selected]);
  return html`
    <${ViewContext.Provider} value=${view}>
      <div class=${cx('json-view', tools && 'json-tools')} role="group" aria-label=${label}>
        ${tools && html`<${Tools} value=${value} label=${label} text=${text} onSearch=${setText} search=${search} />`}
        <div class="json-scroll" tabindex="0" role="region" aria-label=${label} onKeyDown=${moveByKeys}>
          ${
            search && search.found.length === 0
              ? html`<p class="json-none">Nothing found.</p>`
              : html`<${JsonNode} value=${value} path=${[]} depth=${depth} />`
          }
        </div>
        ${!tools && copy && html`<${CopyButton} text=${() => prettyJson(value)} label=${`Copy ${label}`} />`}
        ${tools && selected && html`<${Selected} path=${selected} value=${value} />`}
      </div>
    </${ViewContext.Provider}>
  `;
}

/** @param {Path[]} paths */
function withParents(paths) {
  const all = new Set(['$']);
  for (const path of paths) for (let end = 1; end <= path.length; end += 1) all.add(pathText(path.slice(0, end)));
  return all;
}

/**
 * @param {{value: any, label: string, text: string, onSearch: (text: string) => void, search: ReturnType<typeof
 *   searchJson> | null}} props
 */
function Tools({ value, label, text, onSearch, search }) {
  const [first] = search?.found ?? [];
  const count = search?.hasMore ? `first ${FOUND_MAX} matches` : plural(search?.found.length ?? 0, 'match', 'matches');
  return html`
    <div class="json-bar">
      <${SearchInput} label=${`Search in ${label}`} placeholder="Key or value" value=${text} onSearch=${onSearch}
        landmark=${false} />
      <span class="muted small grow" role="status">${search && (first ? count : 'no match')}</span>
      <${IconButton} icon="download" size="small" label=${`Download ${label}`}
        onClick=${() => download(`${label.replace(/[^\w-]+/g, '-')}.json`, prettyJson(value))} />
      <${CopyButton} text=${() => prettyJson(value)} label=${`Copy ${label}`} />
    </div>
  `;
}

/** @param {{path: string, value: any}} props */
function Selected({ path }) {
  return html`
    <div class="json-bar json-selected">
      <code class="grow anywhere">${path}</code>
      <${CopyButton} text=${path}>Copy path</${CopyButton}>
    </div>
  `;
}

/** Arrow keys move from line to line, and open and close branches. @param {KeyboardEvent} event */
function moveByKeys(event) {
  const box = /** @type {HTMLElement} */ (event.currentTarget);
  const lines = /** @type {HTMLElement[]} */ ([...box.querySelectorAll('[data-path]')]);
  const at = lines.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const line = lines[at];
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    const next = lines[at < 0 ? 0 : at + (event.key === 'ArrowDown' ? 1 : -1)];
    if (!next) return;
    next.focus();
    event.preventDefault();
    return;
  }
  const wanted = event.key === 'ArrowRight' ? 'false' : event.key === 'ArrowLeft' ? 'true' : null;
  if (wanted === null || line?.getAttribute('aria-expanded') !== wanted) return;
  line.click();
  event.preventDefault();
}

/** @param {{name?: string, value: any, path: Path, depth: number}} props */
function JsonNode({ name, value, path, depth }) {
  if (isBranch(value)) return html`<${Branch} name=${name} value=${value} path=${path} depth=${depth} />`;
  return html`<${Line} name=${name} path=${path}><${Scalar} value=${value} /></${Line}>`;
}

/** @param {{name?: string, path: Path, children?: any}} props */
function Line({ name, path, children }) {
  const view = useContext(ViewContext);
  const text = pathText(path);
  return html`
    <div class="json-line">
      <button type="button" tabindex="-1" data-path=${text} onClick=${() => view.onSelect(text)}
        class=${cx('json-pick', view.selected === text && 'json-picked', view.hits.has(text) && 'json-hit')}>
        <${Name} name=${name} />${children}
      </button>
    </div>
  `;
}

/** @param {{name?: string, value: any, path: Path, depth: number}} props */
function Branch({ name, value, path, depth }) {
  const view = useContext(ViewContext);
  const [chosen, setChosen] = useState(/** @type {boolean | null} */ (null));
  const [limit, setLimit] = useState(PIECE);
  const text = pathText(path);
  const list = Array.isArray(value);
  const [first, last] = list ? '[]' : '{}';
  const keyOf = (/** @type {string} */ key) => (list ? Number(key) : key);
  // A search shows only the members that it found, and their parents.
  const isFound = (/** @type {string} */ key) => view.found?.has(pathText([...path, keyOf(key)])) ?? true;
  const searched = view.found !== null && Object.keys(value).some(isFound);
  const names = searched ? Object.keys(value).filter(isFound) : Object.keys(value);
  const open = chosen ?? (searched || (view.found === null && depth > 0));
  const size = plural(names.length, list ? 'item' : 'key');
  if (names.length === 0)
    return html`
      <${Line} name=${name} path=${path}><span class="json-mark">${first}${last}</span></${Line}>
    `;
  const toggle = () => {
    setChosen(!open);
    view.onSelect(text);
  };
  return html`
    <div class="json-branch">
      <button type="button" aria-expanded=${open} data-path=${text} onClick=${toggle}
        class=${cx('json-toggle', view.selected === text && 'json-picked', view.hits.has(text) && 'json-hit')}>
        <${Icon} name="chevron-right" size=${12} />
        <${Name} name=${name} />
        <span class="json-mark">${first}</span>
        ${!open && html`<span class="json-size">${size}</span><span class="json-mark">${last}</span>`}
      </button>
      ${
        open &&
        html`
          <div class="json-members">
            ${names.slice(0, limit).map(
              (key) =>
                html`
                  <${JsonNode} key=${key} name=${list ? undefined : key} value=${value[key]}
                    path=${[...path, keyOf(key)]} depth=${depth - 1} />
                `,
            )}
            ${
              names.length > limit &&
              html`
                <button type="button" class="json-more" onClick=${() => setLimit(limit + PIECE)}>
                  ${names.length - limit} more
                </button>
              `
            }
          </div>
          <div class="json-line json-mark">${last}</div>
        `
      }
    </div>
  `;
}

/** @param {{name?: string}} props */
function Name({ name }) {
  return name === undefined
    ? null
    : html`<span class="tok-key">${JSON.stringify(name)}</span><span class="json-mark">: </span>`;
}

/** @param {{value: any}} props */
function Scalar({ value }) {
  const kind = typeof value === 'string' ? 'string' : isNumber(value) ? 'number' : 'literal';
  return html`<span class=${`tok-${kind}`}>${JSON.stringify(value) ?? 'null'}</span>`;
}
