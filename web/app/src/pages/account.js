/** The account of the signed-in user: password, second factor, connected apps and sessions. */
import { api } from '../lib/api.js';
import { formatNumber } from '../lib/format.js';
import { me } from '../lib/me.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { QUOTAS } from '../lib/quotas.js';
import { useList } from '../lib/resource.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, KeyValue, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { TextInput } from '../ui/field.js';
import { Form } from '../ui/form.js';
import { Pagination, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toasts.js';
import { IdentitiesCard } from './account/identities.js';
import { GrantsCard } from './apps/grants.js';
import { SecondFactorCard } from './security/second-factor-card.js';

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
            user.quotas && [
              'Limits',
              html`
                <span class="row">
                  ${QUOTAS.map(
                    ([name, label]) =>
                      html`<${Badge} key=${name}>${label}: ${formatNumber(user.quotas?.[name] ?? 0)}</${Badge}>`,
                  )}
                </span>
              `,
            ],
          ]} />
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
    if (next !== again) throw new Error('The two new passwords differ.');
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

/**
 * @typedef {{id: string, created_at: string, expires_at: string, last_used_at: string | null, address: string,
 *   user_agent: string, current: boolean}} Session
 */

function SessionsCard() {
  const list = useList('/api/auth/sessions', 'sessions', { every: 15_000 });
  const [asking, setAsking] = useState(false);
  const [ending, setEnding] = useState(/** @type {Session | null} */ (null));
  const others = (list.items ?? []).filter((one) => !one.current).length;
  const columns = [
    {
      key: 'browser',
      label: 'Browser',
      cell: (/** @type {Session} */ one) =>
        html`
          <span title=${one.user_agent}>${browserOf(one.user_agent)}</span> ${
            one.current &&
            html`
              <${Badge} tone="accent">this one</${Badge}>
            `
          }
        `,
    },
    { key: 'address', label: 'Address', mono: true },
    {
      key: 'created_at',
      label: 'Signed in',
      cell: (/** @type {Session} */ one) => html`<${Time} value=${one.created_at} />`,
    },
    {
      key: 'last_used_at',
      label: 'Last used',
      cell: (/** @type {Session} */ one) => html`<${Time} value=${one.last_used_at} none="never" />`,
    },
    {
      key: 'expires_at',
      label: 'Ends',
      cell: (/** @type {Session} */ one) => html`<${Time} value=${one.expires_at} />`,
    },
    {
      key: 'actions',
      label: 'Actions',
      hideLabel: true,
      shrink: true,
      cell: (/** @type {Session} */ one) =>
        !one.current && html`<${Button} size="small" onClick=${() => setEnding(one)}>End</${Button}>`,
    },
  ];
  return html`
    <${Card} title="Sessions" id="sessions" flush description="Browsers that are signed in as you."
      actions=${others > 0 && html`<${Button} onClick=${() => setAsking(true)}>End all others</${Button}>`}>
      ${
        pendingOf(list) ??
        html`
          <${ErrorNotice} error=${list.error} title="Not up to date" />
          <${Table} label="Sessions" columns=${columns} rows=${list.items} />
          <${Pagination} list=${list} />
        `
      }
    </${Card}>
    ${
      ending &&
      html`
        <${ConfirmDialog} title="End this session?" action="End session" onClose=${() => setEnding(null)}
          onConfirm=${() => endSessions(`/api/auth/sessions/${ending.id}`, list, 'Session ended')}>
          <p>${browserOf(ending.user_agent)} at <span class="mono">${ending.address}</span> has to sign in again.</p>
        </${ConfirmDialog}>
      `
    }
    ${
      asking &&
      html`
        <${ConfirmDialog} title="End all other sessions?" action="End sessions" onClose=${() => setAsking(false)}
          onConfirm=${() => endSessions('/api/auth/sessions', list, 'Sessions ended')}>
          <p>Every browser but this one has to sign in again.</p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {string} path @param {{reload: () => Promise<void>}} list @param {string} message */
async function endSessions(path, list, message) {
  await api.del(path);
  await list.reload();
  toast(message);
}

/** A short name for a browser; the title shows the whole user agent. @param {string} agent */
function browserOf(agent) {
  const known = [
    ['Edg/', 'Edge'],
    ['Firefox/', 'Firefox'],
    ['Chrom', 'Chrome'],
    ['Safari/', 'Safari'],
    ['curl/', 'curl'],
  ];
  const system = ['Windows', 'Android', 'iPhone', 'Mac OS X', 'Linux'].find((name) => agent.includes(name));
  const browser = known.find(([mark]) => agent.includes(mark))?.[1] ?? (agent.slice(0, 40) || 'unknown');
  return system ? `${browser} on ${system.replace(' OS X', '')}` : browser;
}
