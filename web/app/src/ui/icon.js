/** Icons: strokes on a 24 × 24 grid, in the colour of the surrounding text, hidden from screen readers. */
import { html } from '../lib/preact.js';

/** @type {Record<string, string>} */
const PATHS = {
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  alert: 'M12 4 2.5 20h19zM12 10v4M12 17.2v.1',
  'arrow-left': 'M19 12H5M11 6l-6 6 6 6',
  'arrow-right': 'M5 12h14M13 6l6 6-6 6',
  bolt: 'M13 3 5 13.5h6L10.5 21 19 10.5h-6z',
  box: 'M12 3 4 7.5v9L12 21l8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  'chevron-down': 'M6 9.5l6 6 6-6',
  'chevron-right': 'M9.5 6l6 6-6 6',
  chevrons: 'M8 9.5l4-4 4 4M8 14.5l4 4 4-4',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 7.5V12l3 2',
  close: 'M6 6l12 12M18 6L6 18',
  code: 'M8.5 7 3.5 12l5 5M15.5 7l5 5-5 5M13.5 5l-3 14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 10.5l5 5 5-5M4.5 20h15',
  edit: 'M4 20l1-4.5L16 4.5l3.5 3.5L8.5 19zM13.5 7l3.5 3.5',
  exchange: 'M4 8.5h15M15 4.5l4 4-4 4M20 15.5H5M9 11.5l-4 4 4 4',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  filter: 'M4 6h16M7 12h10M10 18h4',
  function:
    'M8 4.5c-2 0-2.5 1-2.5 2.8V10c0 1.3-.7 2-2 2 1.3 0 2 .7 2 2v2.7c0 1.8.5 2.8 2.5 2.8' +
    'M16 4.5c2 0 2.5 1 2.5 2.8V10c0 1.3.7 2 2 2-1.3 0-2 .7-2 2v2.7c0 1.8-.5 2.8-2.5 2.8',
  grid: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  home: 'M4 11l8-7 8 7v9h-5.5v-6h-5v6H4z',
  info: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 11v5M12 8v.1',
  key: 'M8 10.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM11.5 12 20 3.5M16 7.5l3 3',
  layers: 'M12 4l9 5-9 5-9-5zM3.5 14.2 12 19l8.5-4.8',
  list: 'M8.5 6H20M8.5 12H20M8.5 18H20M4 6h.1M4 12h.1M4 18h.1',
  lock: 'M5.5 11h13v9.5h-13zM8 11V8a4 4 0 0 1 8 0v3',
  'log-out': 'M14 4h5.5v16H14M4 12h10.5M8 7.5 3.5 12 8 16.5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  minus: 'M5 12h14',
  monitor: 'M3.5 5h17v11.5h-17zM9 20h6M12 16.5V20',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
  more:
    'M5 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z' +
    'M12 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z' +
    'M19 11.2a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z',
  pause: 'M8.5 5v14M15.5 5v14',
  play: 'M7 4.5v15L19 12z',
  plug: 'M9 3v5M15 3v5M6 8h12v3.5a6 6 0 0 1-12 0zM12 17.5V21',
  plus: 'M12 5v14M5 12h14',
  refresh: 'M20 11.5A8 8 0 0 0 5.5 7.5L4 9M4 4v5h5M4 12.5a8 8 0 0 0 14.5 4L20 15M20 20v-5h-5',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  send: 'M20.5 3.5 3.5 10l7 3.5 3.5 7zM10.5 13.5l4-4',
  shield: 'M12 3.5l7.5 2.8v5.2c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6.3z',
  stop: 'M6.5 6.5h11v11h-11z',
  sun:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z' +
    'M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  terminal: 'M3.5 5h17v14h-17zM7.5 9.5l3 2.5-3 2.5M12.5 15h4',
  trash: 'M4.5 7h15M9.5 7V4h5v3M6.5 7l1 13h9l1-13M10.5 11v5.5M13.5 11v5.5',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20.5c.5-4 3.5-6 7.5-6s7 2 7.5 6',
  users:
    'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z' +
    'M2.5 19.5c.5-3.5 3-5 6.5-5s6 1.5 6.5 5M16 5.3a3.5 3.5 0 0 1 0 6.4M18 14.8c2 .7 3.2 2.2 3.5 4.7',
};

/**
 * @param {{name: string | undefined, size?: number, class?: string}} props
 */
export function Icon({ name, size = 16, class: className }) {
  return html`
    <svg class=${className ? `icon ${className}` : 'icon'} width=${size} height=${size} viewBox="0 0 24 24" fill="none"
      stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"
      focusable="false">
      <path d=${PATHS[name ?? ''] ?? PATHS.info} />
    </svg>
  `;
}

export function Logo() {
  return html`
    <svg class="logo" width="24" height="24" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g class="logo-lines" fill="none" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">
        <path d="M11 10 5.5 16 11 22" /><path d="M21 10 26.5 16 21 22" /><path d="M15.9 16h.2" stroke-width="4.5" />
      </g>
    </svg>
  `;
}
