/** Error messages of the server, shown where the error happened. */

import { silentSince } from '../lib/connection.js';
import { inWords } from '../lib/errors.js';
import { html } from '../lib/preact.js';
import { isPassing } from '../lib/retry.js';
import { Button } from './button.js';
import { Icon } from './icon.js';
import { withCode } from './rich-text.js';

/**
 * An error next to the control that failed. Renders nothing without an error. While the frame says that the server does
 * not answer, data that could not be loaded again needs no notice of its own, except with `always`.
 * @param {{error: any, title?: string, onRetry?: () => void, always?: boolean}} props
 */
export function ErrorNotice({ error, title, onRetry, always }) {
  if (!error) return null;
  if (!always && silentSince.value !== null && error.status === 0 && error.problem?.method === 'GET') return null;
  return html`
    <div class="notice tone-bad" role="alert">
      <${Icon} name="alert" />
      <div class="grow">
        ${title && html`<p class="notice-title">${title}</p>`}
        <p>${withCode(messageOf(error))}</p>
        ${inWords(error).hint && html`<p class="notice-hint">${withCode(inWords(error).hint)}</p>`}
      </div>
      ${onRetry && html`<${Button} size="small" onClick=${onRetry}>Try again</${Button}>`}
    </div>
  `;
}

/**
 * A notice that is not an error.
 * @param {{tone?: import('./badge.js').Tone, icon?: string, title?: any, children?: any, actions?: any}} props
 */
export function Notice({ tone = 'accent', icon = 'info', title, children, actions }) {
  return html`
    <div class=${`notice tone-${tone}`}>
      <${Icon} name=${icon} />
      <div class="grow">${title && html`<p class="notice-title">${title}</p>`}${children}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
  `;
}

/** The message of an error for people. @param {any} error */
export const messageOf = (error) => inWords(error).text;

/**
 * Replaces a page whose data could not be loaded. The statuses 403, 404 and 0 (no answer) have their own headings.
 * @param {{error: any, title?: string, onRetry?: () => void, back?: {href: string, label: string}, retries?: boolean}}
 *   props `retries`: the page tries again by itself
 */
export function PageError({ error, title, onRetry, back, retries }) {
  const known = {
    403: 'You are not allowed to see this',
    404: 'There is nothing here',
    0: 'The server is not answering',
  };
  const heading = title ?? known[/** @type {403} */ (error.status)] ?? 'Something went wrong';
  const code = error.status === 403 || error.status === 404 ? String(error.status) : '';
  return html`
    <div class="page-error">
      ${code && html`<p class="page-error-code" aria-hidden="true">${code}</p>`}
      <h1>${heading}</h1>
      <p>${withCode(messageOf(error))}</p>
      ${inWords(error).hint && html`<p class="muted">${withCode(inWords(error).hint)}</p>`}
      ${retries && html`<p class="muted" role="status">Trying again by itself…</p>`}
      <div class="actions">
        ${back && html`<${Button} href=${back.href} icon="arrow-left">${back.label}</${Button}>`}
        <${Button} href="/">Go to the overview</${Button}>
        ${
          error.status !== 403 &&
          error.status !== 404 &&
          html`<${Button} icon="refresh" onClick=${onRetry ?? (() => location.reload())}>Try again</${Button}>`
        }
      </div>
    </div>
  `;
}

/**
 * The view of a resource without data: error, loading or blank. Null if it has data.
 * @param {{error: any, data: any, slow: boolean, reload?: () => any}} resource
 * @param {{page?: boolean, back?: {href: string, label: string}}} [options] `page`: an error replaces the whole page
 */
export function pendingOf(resource, { page = false, back } = {}) {
  if (resource.data !== null) return null;
  if (resource.error && page)
    return html`
      <${PageError} error=${resource.error} onRetry=${resource.reload} back=${back}
        retries=${isPassing(resource.error)} />
    `;
  if (resource.error) return html`<${ErrorNotice} error=${resource.error} onRetry=${resource.reload} always />`;
  return resource.slow ? html`<p class="loading" role="status">Loading…</p>` : html`<div class="loading-space"></div>`;
}
