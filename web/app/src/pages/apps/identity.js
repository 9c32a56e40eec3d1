/** The name of an app and where it comes from. The app chose the name, so it is always quoted and never trusted. */
import { displayName } from '../../lib/oauth.js';
import { html } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';

/** @import { AppSummary } from 'api' */

/** The name as a quote; `bdi` isolates its text direction from the text around it. @param {{app: AppSummary}} props */
export function QuotedName({ app }) {
  return html`<span class="anywhere">“<bdi>${displayName(app.name)}</bdi>”</span>`;
}

/** The origin of an app, in a sentence. @param {{app: AppSummary}} props */
export function Origin({ app }) {
  if (app.kind === 'metadata')
    return html`<span>published by <strong class="anywhere">${app.host ?? 'an unknown host'}</strong></span>`;
  if (app.kind === 'builtin') return 'a part of svc';
  if (app.kind === 'manual') return 'added by an administrator';
  return html`<span class="app-unverified">not verified: this app gave itself this name</span>`;
}

/** The origin of an app, in a table. @param {{app: AppSummary}} props */
export function OriginBadge({ app }) {
  if (app.kind === 'metadata') return html`<${Badge} mono title="published by this host">${app.host}</${Badge}>`;
  if (app.kind === 'builtin') return html`<${Badge} tone="accent">part of svc</${Badge}>`;
  if (app.kind === 'manual') return html`<${Badge} tone="good">added by an administrator</${Badge}>`;
  return html`<${Badge} tone="warn" title="The app gave itself this name">not verified</${Badge}>`;
}

/** An app in the first column of a table. @param {{app: AppSummary}} props */
export function AppCell({ app }) {
  return html`
    <span class="app-cell">
      <span class="strong"><${QuotedName} app=${app} /></span>
      <${OriginBadge} app=${app} />
    </span>
  `;
}
