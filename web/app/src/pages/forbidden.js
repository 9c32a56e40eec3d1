import { me } from '../lib/me.js';
import { html } from '../lib/preact.js';
import { ROUTES } from '../routes.js';
import { PageError } from '../ui/error-notice.js';

/** @param {{route: import('../routes.js').Route}} props */
export default function ForbiddenPage({ route }) {
  const needs = route.needs ?? [];
  const title = ROUTES.find((row) => row.path === `/${route.pathname.split('/')[1]}`)?.title;
  const what = title ? `The page “${title}”` : 'This page';
  const permissions = needs.map((name) => `\`${name}\``).join(' or ');
  const account = me.value?.username ?? 'your account';
  const error = {
    status: 403,
    detail: `${what} needs the permission ${permissions}, which ${account} does not have.`,
    hint: 'An administrator can assign a role that includes it.',
  };
  return html`<${PageError} error=${error} />`;
}
