import { html, useEffect, useState } from '../lib/preact.js';
import { SLOW_MS } from '../lib/resource.js';

/**
 * Whether `busy` has lasted long enough to show a spinner.
 * @param {boolean} busy
 */
export function useSlow(busy) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!busy) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [busy]);
  return busy && slow;
}

/** @param {{size?: number}} props */
export function Spinner({ size = 16 }) {
  return html`
    <svg class="spinner" width=${size} height=${size} viewBox="0 0 24 24" fill="none" stroke="currentColor"
      stroke-width="2.5" stroke-linecap="round" aria-hidden="true">
      <path d="M12 3a9 9 0 1 1-9 9" />
    </svg>
  `;
}

/** Placeholder for content that is loading. Show it only while a resource is `slow`. @param {{label?: string}} props */
export function Loading({ label = 'Loading' }) {
  return html`<p class="loading" role="status"><${Spinner} /> ${label}…</p>`;
}
