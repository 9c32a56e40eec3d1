/** The frame of most pages: navigation, user menu, skip link. Pages with `open` or `bare` in `routes.js` have none. */
import { alertCount, alerts, loadAlerts } from './lib/alerts.js';
import { silentSince } from './lib/connection.js';
import { compact, setCompact } from './lib/density.js';
import { clockTime } from './lib/format.js';
import { can, me, signOut } from './lib/me.js';
import { cx, html, useEffect, useRef, useState } from './lib/preact.js';
import { poll } from './lib/resource.js';
import { setTheme, theme } from './lib/theme.js';
import { Link, mayLeave, navigate, route } from './router.js';
import { ROUTES } from './routes.js';
import { signedOut } from './session.js';
import { listenToKeys, overlay } from './shortcuts.js';
import { IconButton } from './ui/button.js';
import { messageOf } from './ui/error-notice.js';
import { Icon, Logo } from './ui/icon.js';
import { Menu } from './ui/menu.js';
import { toast } from './ui/toasts.js';

/** Interval for reloading the numbers of failing sinks and spaces. */
const ALERTS_EVERY_MS = 30_000;

/** @param {{children: any}} props */
export function Shell({ children }) {
  const [open, setOpen] = useState(false);
  const at = route.value.pathname;
  useEffect(() => setOpen(false), [at]);
  useEffect(() => {
    const load = () => loadAlerts().catch(() => {});
    void load();
    return poll(load, ALERTS_EVERY_MS);
  }, []);
  return html`
    <a class="skip-link" href="#content" onClick=${skip}>Skip to content</a>
    <div class=${cx('shell', silentSince.value !== null && 'is-silent')}>
      <${TopBar} open=${open} onToggle=${() => setOpen(!open)} />
      <${Sidebar} open=${open} onClose=${() => setOpen(false)} />
      <main id="content" class="content" tabindex="-1" inert=${open}>
        <${ConnectionBanner} />
        ${children}
      </main>
    </div>
    <${Overlay} />
  `;
}

/** Says on every page, once, that the server does not answer. */
function ConnectionBanner() {
  const since = silentSince.value;
  return html`
    <div role="status">
      ${
        since !== null &&
        html`
          <p class="connection-banner">
            <${Icon} name="alert" size=${14} />
            <span>
              No answer from the server since ${clockTime(since)}. This page shows what it knew then: its states may
              have changed. It tries again by itself.
            </span>
          </p>
        `
      }
    </div>
  `;
}

/** The command palette or the list of keyboard shortcuts; the module is loaded when it is needed. */
function Overlay() {
  const [found, setFound] = useState(/** @type {{View: any} | null} */ (null));
  const shown = overlay.value !== '';
  useEffect(listenToKeys, []);
  useEffect(() => {
    if (shown && !found) import('./palette.js').then((module) => setFound({ View: module.default }), reportPalette);
  }, [shown]);
  return shown && found ? html`<${found.View} />` : null;
}

function openPalette() {
  overlay.value = 'palette';
}

function reportPalette() {
  overlay.value = '';
  toast('The palette could not be loaded. Try again.', { kind: 'error' });
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

const failingText = () => `${alertCount.value} failing, see the overview`;

/** @param {{open: boolean, onToggle: () => void}} props */
function TopBar({ open, onToggle }) {
  return html`
    <header class="topbar">
      <a class="brand" href="/" aria-label="svc, overview"><${Logo} /><span>svc</span></a>
      <span class="menu-alert">
        <${IconButton} icon=${open ? 'close' : 'menu'} label=${open ? 'Close menu' : 'Open menu'} onClick=${onToggle}
          aria-expanded=${open} aria-controls="sidebar" />
        ${!open && alertCount.value > 0 && html`<a class="nav-alert" href="/" aria-label=${failingText()}>!</a>`}
      </span>
    </header>
  `;
}

/** @param {{open: boolean, onClose: () => void}} props */
function Sidebar({ open, onClose }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open) return undefined;
    const onKey = (/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && onClose();
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [open]);
  return html`
    <aside id="sidebar" class=${cx('sidebar', open && 'is-open')} ref=${ref}>
      <a class="brand brand-side" href="/" aria-label="svc, overview"><${Logo} /><span>svc</span></a>
      <button type="button" class="nav-link nav-find" aria-keyshortcuts="Control+K" onClick=${openPalette}>
        <${Icon} name="search" />Go to…<kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <nav class="nav" aria-label="Main">
        ${groups().map(([name, rows]) => html`<${NavGroup} key=${name} name=${name} rows=${rows} />`)}
      </nav>
      <${UserMenu} />
    </aside>
    ${open && html`<div class="scrim" onClick=${onClose}></div>`}
  `;
}

/** @param {{name: string, rows: import('./routes.js').RouteRow[]}} props */
function NavGroup({ name, rows }) {
  return html`
    <div class="nav-group">
      ${name && html`<p class="nav-heading" id=${`nav-${name}`}>${name}</p>`}
      <ul aria-labelledby=${name ? `nav-${name}` : undefined}>
        ${rows.map(
          (row) =>
            html`
              <li key=${row.path}>
                <${Link} class="nav-link" href=${row.path}>
                  <${Icon} name=${row.icon} />${row.title}<${FailingBadge} path=${row.path} />
                </${Link}>
              </li>
            `,
        )}
      </ul>
    </div>
  `;
}

/** The number of failing records of a page. @param {{path: string}} props */
function FailingBadge({ path }) {
  const count = alerts.value[/** @type {'/sinks'} */ (path)] ?? 0;
  if (count === 0) return null;
  return html`
    <span class="nav-alert" aria-hidden="true">${count > 99 ? '99+' : count}</span>
    <span class="visually-hidden">, ${count} failing</span>
  `;
}

/** The pages that the user may see, by heading. */
function groups() {
  /** @type {Map<string, import('./routes.js').RouteRow[]>} */
  const found = new Map();
  for (const row of ROUTES) {
    if (!row.icon || !can(...(row.needs ?? []))) continue;
    const rows = found.get(row.group ?? '') ?? [];
    found.set(row.group ?? '', [...rows, row]);
  }
  return [...found];
}

function UserMenu() {
  const user = me.value;
  if (!user) return null;
  const chosen = theme.value;
  const themes = /** @type {const} */ ([
    ['system', 'monitor', 'System theme'],
    ['light', 'sun', 'Light theme'],
    ['dark', 'moon', 'Dark theme'],
  ]);
  const items = [
    { label: 'Change password', icon: 'lock', href: '/account' },
    { label: 'Second factor', icon: 'shield', href: '/account#second-factor' },
    { label: 'Connected apps', icon: 'plug', href: '/account#apps' },
    { label: 'Sessions', icon: 'monitor', href: '/account#sessions' },
    { label: 'HTTP API', icon: 'code', href: '/api/docs' },
    'line',
    ...themes.map(([value, icon, label]) => ({
      label,
      icon,
      checked: chosen === value,
      onClick: () => setTheme(value),
    })),
    'line',
    {
      label: 'Compact rows',
      icon: 'list',
      toggles: true,
      checked: compact.value,
      onClick: () => setCompact(!compact.value),
    },
    'line',
    { label: 'Sign out', icon: 'log-out', onClick: leave },
  ];
  return html`
    <${Menu} class="user-menu" items=${items} up label=${`Account of ${user.username}`}>
      <span class="visually-hidden">Account of </span>
      <span class="avatar" aria-hidden="true">${user.username.slice(0, 1).toUpperCase()}</span>
      <span class="user-name">
        <span class="truncate">${user.username}</span>
        <span class="muted small truncate">${user.roles.join(', ') || 'no role'}</span>
      </span>
      <${Icon} name="chevrons" />
    </${Menu}>
  `;
}

async function leave() {
  // Confirm first: a user who stays on the page must still be signed in.
  if (!mayLeave()) return;
  try {
    await signOut();
    signedOut();
    navigate('/login', { replace: true, asked: true });
  } catch (error) {
    toast(messageOf(error), { kind: 'error' });
  }
}
