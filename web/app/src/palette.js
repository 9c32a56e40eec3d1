/** The command palette, and the list of keyboard shortcuts. Loaded when one of them is first opened. */
import { can } from './lib/me.js';
import { html, useEffect, useId, useRef, useState } from './lib/preact.js';
import { useResource } from './lib/resource.js';
import { loadStyles } from './lib/styles.js';
import { find, loadRecords, searchMethods } from './palette/entries.js';
import { navigate } from './router.js';
import { overlay, pageKeys } from './shortcuts.js';
import { Status } from './ui/badge.js';
import { Dialog } from './ui/dialog.js';
import { Icon } from './ui/icon.js';

await loadStyles('palette.css');

/** Length of a pause in typing after which the server is asked for methods. */
const PAUSE_MS = 150;

const close = () => {
  overlay.value = '';
};

/** @param {import('./palette/entries.js').Entry} entry */
const keyOf = (entry) => `${entry.kind} ${entry.href ?? entry.title}`;

export default function Overlay() {
  return overlay.value === 'palette' ? html`<${Palette} />` : html`<${Keys} />`;
}

function Palette() {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  // The key of the entry that the arrow keys chose. It stays chosen when further entries arrive.
  const [chosen, setChosen] = useState('');
  const records = useResource(loadRecords, { deps: [] });
  const methods = useResource((signal) => searchMethods(asked, signal), { deps: [asked] });
  const id = useId();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const entries = find(text, records.data ?? [], methods.data ?? []);
  const current = Math.max(
    entries.findIndex((entry) => keyOf(entry) === chosen),
    0,
  );
  const open = (/** @type {import('./palette/entries.js').Entry | undefined} */ entry) => {
    if (!entry) return;
    close();
    if (entry.href) navigate(entry.href);
    else entry.run?.();
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[/** @type {'ArrowUp'} */ (event.key)];
    if (step) {
      event.preventDefault();
      const next = entries[(current + step + entries.length) % Math.max(entries.length, 1)];
      if (next) setChosen(keyOf(next));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(entries[current]);
    }
  };
  return html`
    <${Dialog} title="Go to" onClose=${close} class="palette">
      <input type="text" class="input" role="combobox" aria-label="Search pages, methods, records and actions"
        placeholder="Page, method, sink, space, script, user, event id or action" aria-expanded="true"
        aria-controls=${id} aria-activedescendant=${entries.length ? `${id}-${current}` : undefined} autocomplete="off"
        spellcheck=${false} autofocus value=${text} onKeyDown=${onKey}
        onInput=${(/** @type {any} */ event) => {
          setText(event.currentTarget.value);
          setChosen('');
        }} />
      <ul class="palette-list" role="listbox" id=${id} aria-label="Results">
        ${entries.map(
          (entry, index) => html`
            <${Option} key=${keyOf(entry)} id=${`${id}-${index}`} entry=${entry}
              selected=${index === current} onOpen=${() => open(entry)} />
          `,
        )}
      </ul>
      ${entries.length === 0 && html`<p class="muted palette-none" role="status">Nothing is called “${text}”.</p>`}
    </${Dialog}>
  `;
}

/** @param {{id: string, entry: import('./palette/entries.js').Entry, selected: boolean, onOpen: () => void}} props */
function Option({ id, entry, selected, onOpen }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (selected) ref.current?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  return html`
    <li id=${id} ref=${ref} role="option" aria-selected=${selected} class="palette-option" onClick=${onOpen}>
      <${Icon} name=${entry.icon} />
      <span class="grow truncate">${entry.title}</span>
      ${
        entry.state &&
        html`<span class="small"><${Status} tone=${entry.state.tone}>${entry.state.label}</${Status}></span>`
      }
      <span class="muted small">${entry.kind}</span>
    </li>
  `;
}

function Keys() {
  const rows = [
    ['Ctrl K', 'Go to a page, method, sink, space, script, user or event'],
    ['/', 'Search this page'],
    ['?', 'This list'],
    ...(can() ? pageKeys().map(({ keys, title }) => [keys, title]) : []),
  ];
  return html`
    <${Dialog} title="Keys" onClose=${close}>
      <dl class="key-list">
        ${rows.map(
          ([keys, does]) => html`
            <div key=${keys}>
              <dt>${keys.split(' ').map((key) => html`<kbd key=${key}>${key}</kbd>`)}</dt>
              <dd>${does}</dd>
            </div>
          `,
        )}
      </dl>
    </${Dialog}>
  `;
}
