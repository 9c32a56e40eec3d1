/** The account of the signed-in user: password, second factor, accounts at providers, connected apps and sessions. */

import { api } from '../lib/api.js';
import { Refusal } from '../lib/errors.js';
import { me } from '../lib/me.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { Badge } from '../ui/badge.js';
import { Card, KeyValue, PageHeader } from '../ui/card.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { toast } from '../ui/toasts.js';
import { IdentitiesCard } from './account/identities.js';
import { SessionsCard } from './account/sessions.js';
import { GrantsCard } from './apps/grants.js';
import { SecondFactorCard } from './security/second-factor-card.js';
import { QuotaUseTable } from './users/quota-use.js';

export default function AccountPage() {
  const user = me.value;
  useEffect(() => {
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  if (!user) return null;
  const badges = (/** @type {string[]} */ names) =>
    names.length
      ? html`<span class="row">${names.map((name) => html`<${Badge} key=${name} mono>${name}</${Badge}>`)}</span>`
      : html`<span class="muted">none</span>`;
  return html`
    <${PageHeader} title="Account"
      description="Your password and second factor, the apps that act as you, and where you are signed in." />
    <div class="stack-large">
      <${Card} title="You">
        <${KeyValue}
          items=${[
            ['User name', html`<span class="mono">${user.username}</span>`],
            ['Roles', badges(user.roles)],
            ['Groups', badges(user.groups)],
            ['Permissions', badges(user.permissions)],
          ]} />
      </${Card}>
      <${Card} title="Quotas" flush description="Your limits on this server, and how much of each you use.">
        <${QuotaUseTable} />
      </${Card}>
      <${PasswordCard} />
      <${SecondFactorCard} />
      <${IdentitiesCard} />
      <${GrantsCard} />
      <${SessionsCard} />
    </div>
  `;
}

function PasswordCard() {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [again, setAgain] = useState('');
  const submit = async () => {
    if (next !== again) throw new Refusal('The two new passwords differ.');
    await api.post('/api/auth/password', { current_password: current, new_password: next });
    for (const clear of [setCurrent, setNext, setAgain]) clear('');
    toast('Password changed');
  };
  return html`
    <${Card} title="Change password" id="password">
      <${Form} submit="Change password" class="narrow" onSubmit=${submit}>
        <input class="visually-hidden" type="text" autocomplete="username" value=${me.value?.username} tabindex="-1"
          aria-hidden="true" readonly />
        <${TextInput} label="Current password" type="password" value=${current} onInput=${setCurrent}
          autocomplete="current-password" required />
        <${TextInput} label="New password" type="password" value=${next} onInput=${setNext} autocomplete="new-password"
          minlength="8" hint="At least 8 characters." required />
        <${TextInput} label="New password again" type="password" value=${again} onInput=${setAgain}
          autocomplete="new-password" required
          error=${again && !next.startsWith(again) ? 'The two new passwords differ.' : ''} />
      </${Form}>
    </${Card}>
  `;
}
