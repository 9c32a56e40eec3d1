import { cx, html } from '../lib/preact.js';

/** @typedef {'neutral' | 'accent' | 'good' | 'warn' | 'bad'} Tone */

/** @param {{tone?: Tone, mono?: boolean, title?: string, children?: any}} props */
export function Badge({ tone = 'neutral', mono, title, children }) {
  return html`<span class=${cx('badge', `tone-${tone}`, mono && 'mono')} title=${title}>${children}</span>`;
}

/**
 * A dot and a word; the colour repeats the meaning of the word.
 * @param {{tone?: Tone, pulse?: boolean, title?: string, children?: any}} props
 */
export function Status({ tone = 'neutral', pulse, title, children }) {
  return html`
    <span class=${cx('status', `tone-${tone}`)} title=${title}>
      <span class=${cx('dot', pulse && 'dot-pulse')} aria-hidden="true"></span>${children}
    </span>
  `;
}

/** @type {Record<string, Tone>} */
const TONES = {
  running: 'good',
  healthy: 'good',
  linked: 'good',
  ready: 'good',
  delivered: 'good',
  succeeded: 'good',
  active: 'good',
  ok: 'good',
  open: 'good',
  starting: 'accent',
  stopping: 'accent',
  restarting: 'accent',
  pending: 'accent',
  queued: 'accent',
  sending: 'accent',
  in_flight: 'accent',
  delivering: 'accent',
  connecting: 'accent',
  retrying: 'warn',
  waiting: 'warn',
  paused: 'warn',
  unlinked: 'warn',
  expired: 'warn',
  degraded: 'warn',
  failed: 'bad',
  failing: 'bad',
  unhealthy: 'bad',
  error: 'bad',
  dropped: 'bad',
  dead: 'bad',
  revoked: 'bad',
  lost: 'bad',
};

/** The tone for a status of the API. @param {string} state @returns {Tone} */
export function toneOf(state) {
  return TONES[state] ?? 'neutral';
}
