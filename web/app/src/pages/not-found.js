import { html } from '../lib/preact.js';
import { PageError } from '../ui/error-notice.js';

/** @param {{route: import('../routes.js').Route}} props */
export default function NotFoundPage({ route }) {
  const error = { status: 404, detail: `There is no page at ${route.pathname}. The link may be outdated or mistyped.` };
  return html`<${PageError} error=${error} title="Page not found" />`;
}
