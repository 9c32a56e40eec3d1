/** One user: roles, groups and effective access. */
import { useAction } from '../lib/action.js';
import { api, at } from '../lib/api.js';
import { anyChange, changesBetween, withChanges, withoutSaved } from '../lib/changes.js';
import { can, loadMe, me } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useDocumentTitle } from '../page-host.js';
import { navigate, useUnsaved } from '../router.js';
import { Badge, Status } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Card, KeyValue, PageHeader } from '../ui/card.js';
import { ConfirmDialog, Dialog } from '../ui/dialog.js';
import { ErrorNotice, Notice, pendingOf } from '../ui/error-notice.js';
import { Form } from '../ui/form.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toasts.js';
import { IdentitiesCard } from './account/identities.js';
import { SessionsCard } from './account/sessions.js';
import { GrantsCard } from './apps/grants.js';
import { MethodsAccess, PermissionsAccess } from './users/access.js';
import { useNames } from './users/directory.js';
import { Choice, NewPassword } from './users/fields.js';
import { QuotasCard } from './users/quotas.js';
import { TokensCard } from './users/tokens.js';

/** @import { User, UserPatch } from 'api' */
/** @import { Address } from 'requests' */

await loadStyles('users.css');

const BACK = { href: '/users', label: 'Users' };

/** @param {{route: import('../routes.js').Route}} props */
export default function UserPage({ route }) {
  const path = at('/api/users/{id}', { id: route.params.id });
  const user = useResource(path, { every: 10_000 });
  return (
    pendingOf(user, { page: true, back: BACK }) ??
    html`<${Person} key=${path} path=${path} user=${user.data} stale=${user.error} onChanged=${user.set} />`
  );
}

/** @typedef {Address<'/api/users/{id}'>} Path */
/** @typedef {(patch: UserPatch) => Promise<void>} Change */

/**
 * @param {{path: Path, user: User, stale: any, onChanged: (user: User) => void}} props `stale`: why the data may be
 *   outdated
 */
function Person({ path, user, stale, onChanged }) {
  useDocumentTitle(user.username);
  const access = useResource(at('/api/users/{id}/access', { id: user.id }), { every: 10_000 });
  const change = async (/** @type {UserPatch} */ patch) => {
    onChanged({ ...(await api.patch(path, patch)), last_seen_at: user.last_seen_at });
    await access.reload();
    // A change of the signed-in user may show or hide parts of the interface.
    if (user.id === me.value?.id) await loadMe();
  };
  const reload = async () => onChanged(await api.get(path));
  return html`
    <${Head} path=${path} user=${user} onChange=${change} onReload=${reload} />
    <div class="stack-large">
      <${ErrorNotice} error=${stale} />
      ${
        !user.active &&
        html`
          <${Notice} tone="warn" icon="lock" title="Inactive">
            <p>
              This user cannot sign in, and their tokens are refused. The settings below apply again after activation.
            </p>
          </${Notice}>
        `
      }
      <${Membership} path=${path} user=${user} onChange=${change} />
      ${
        pendingOf(access) ??
        html`
          <${ErrorNotice} error=${access.error} title="Not up to date" />
          <${PermissionsAccess} permissions=${access.data?.permissions} />
          <${MethodsAccess} access=${access.data} />
        `
      }
      <${IdentitiesCard} user=${user} />
      <${GrantsCard} user=${user} />
      <${SessionsCard} user=${user} />
      <${TokensCard} user=${user} />
      <${QuotasCard} user=${user} onChange=${change} />
      <${Card} title="About">
        <${KeyValue}
          items=${[
            ['Created', html`<${Time} value=${user.created_at} exact />`],
            ['Last seen', html`<${Time} value=${user.last_seen_at} none="never" exact />`],
            ['Second factor', user.second_factor ? 'set up' : 'none'],
            ['Id', html`<span class="mono small">${user.id}</span>`],
            can('view_audit') && [
              'Calls',
              html`
                <a href=${`/calls?caller=${encodeURIComponent(user.username)}`}>Calls by ${user.username}</a>
                , <a href=${`/calls?owner=${encodeURIComponent(user.username)}`}>calls of their methods</a>
              `,
            ],
            can('view_audit') && [
              'Audit',
              html`
                <a href=${`/audit?actor=${encodeURIComponent(user.username)}`}>What ${user.username} did</a>
                , <a href=${`/audit?target_type=user&target_id=${user.id}`}>what was done to this user</a>
              `,
            ],
          ]} />
      </${Card}>
    </div>
  `;
}

/**
 * @param {{path: Path, user: User, onChange: Change, onReload: () => Promise<void>}} props
 */
function Head({ path, user, onChange, onReload }) {
  const [open, setOpen] = useState(/** @type {'' | 'password' | 'factor' | 'active' | 'delete'} */ (''));
  const own = user.id === me.value?.id;
  const close = () => setOpen('');
  const activate = useAction(async () => {
    await onChange({ active: true });
    toast(`${user.username} is active`);
  });
  const deactivate = async () => {
    await onChange({ active: false });
    toast(`${user.username} is inactive`);
  };
  const resetFactor = async () => {
    await api.del(at('/api/users/{id}/second-factor', { id: user.id }));
    await onReload();
    toast(`${user.username} has no second factor`);
  };
  const remove = async () => {
    await api.del(path);
    toast(`User ${user.username} deleted`);
    navigate('/users');
  };
  const actions = own
    ? html`<${Button} href="/account#password">Change your password</${Button}>`
    : html`
      <${Button} icon="key" onClick=${() => setOpen('password')}>Set password</${Button}>
      ${user.second_factor && html`<${Button} onClick=${() => setOpen('factor')}>Reset second factor</${Button}>`}
      ${
        user.active
          ? html`<${Button} onClick=${() => setOpen('active')}>Deactivate</${Button}>`
          : html`<${Button} busy=${activate.busy} onClick=${activate.run}>Activate</${Button}>`
      }
      <${Button} icon="trash" onClick=${() => setOpen('delete')}>Delete</${Button}>
    `;
  return html`
    <${PageHeader} title=${user.username} mono back=${BACK} actions=${actions}>
      <${Status} tone=${user.active ? 'good' : 'neutral'}>${user.active ? 'active' : 'inactive'}</${Status}>
      ${own && html`<${Badge} tone="accent">you</${Badge}>`}
    </${PageHeader}>
    ${activate.error && html`<div class="toolbar"><${ErrorNotice} error=${activate.error} /></div>`}
    ${open === 'password' && html`<${SetPassword} user=${user} onChange=${onChange} onClose=${close} />`}
    ${
      open === 'factor' &&
      html`
        <${ConfirmDialog} title=${`Reset the second factor of ${user.username}?`} action="Reset second factor"
          onConfirm=${resetFactor} onClose=${close}>
          <p>
            For a user who lost the phone and the recovery codes. The next login needs the password alone, so make sure
            that the person who asks is ${user.username}.
          </p>
        </${ConfirmDialog}>
      `
    }
    ${
      open === 'active' &&
      html`
        <${ConfirmDialog} title=${`Deactivate ${user.username}?`} action="Deactivate" onConfirm=${deactivate}
          onClose=${close}>
          <p>
            This user is signed out at once, and their tokens are refused until the user is activated again. Nothing is
            deleted.
          </p>
        </${ConfirmDialog}>
      `
    }
    ${
      open === 'delete' &&
      html`
        <${ConfirmDialog} title=${`Delete ${user.username}?`} action="Delete user" typed=${user.username}
          onConfirm=${remove} onClose=${close}>
          <p>
            Their tokens, sessions, sinks and scripts are deleted too. The server rejects this while they own spaces, or
            while scripts of global sinks run as them.
          </p>
        </${ConfirmDialog}>
      `
    }
  `;
}

/** @param {{user: User, onChange: Change, onClose: () => void}} props */
function SetPassword({ user, onChange, onClose }) {
  const [password, setPassword] = useState('');
  const [shown, setShown] = useState(false);
  const submit = async () => {
    await onChange({ password });
    toast(`Password of ${user.username} set`);
    onClose();
  };
  const made = (/** @type {string} */ text) => {
    setPassword(text);
    setShown(true);
  };
  return html`
    <${Dialog} title=${`Set password of ${user.username}`} onClose=${onClose}>
      <${Form} submit="Set password" onSubmit=${submit} onCancel=${onClose}>
        <p class="muted">Their sessions end; tokens stay valid.</p>
        <${NewPassword} label="New password" value=${password} onInput=${setPassword} shown=${shown} onMade=${made} />
      </${Form}>
    </${Dialog}>
  `;
}

/**
 * @typedef {Record<'roles' | 'groups', import('../lib/changes.js').Changes>} Ticks unsaved ticks
 */

/** @param {{path: Path, user: User, onChange: Change}} props */
function Membership({ path, user, onChange }) {
  const allRoles = useNames('roles', [user]);
  const allGroups = useNames('groups', [user]);
  const [ticks, setTicks] = useState(/** @type {Ticks} */ ({ roles: {}, groups: {} }));
  const dirty = anyChange(user.roles, ticks.roles) || anyChange(user.groups, ticks.groups);
  const tick = (/** @type {keyof Ticks} */ what) => (/** @type {string[]} */ names) =>
    setTicks({ ...ticks, [what]: changesBetween(user[what], names) });
  useUnsaved(dirty);
  const save = useAction(async () => {
    await onChange(await patchOf(path, ticks));
    setTicks((now) => ({
      roles: withoutSaved(now.roles, ticks.roles),
      groups: withoutSaved(now.groups, ticks.groups),
    }));
    toast('Roles and groups saved');
  });
  const reset = () => {
    setTicks({ roles: {}, groups: {} });
    save.clear();
  };
  return html`
    <${Card} title="Roles and groups"
      description="Roles give permissions. Groups give access to the shared methods that are limited to them.">
      <${Form} submit="Save" action=${save} disabled=${!dirty}
        more=${dirty && html`<${Button} onClick=${reset}>Discard changes</${Button}>`}>
        <div class="columns">
          <${Choice} label="Roles" names=${allRoles} chosen=${withChanges(user.roles, ticks.roles)}
            onChange=${tick('roles')} none="There are no roles." />
          <${Choice} label="Groups" names=${allGroups} chosen=${withChanges(user.groups, ticks.groups)}
            onChange=${tick('groups')}
            none=${
              can('manage_groups')
                ? html`There are no groups yet. <a href="/groups">Make one</a>`
                : 'There are no groups yet.'
            } />
        </div>
      </${Form}>
    </${Card}>
  `;
}

/**
 * The patch that saves the ticks. The API replaces whole lists, so the current lists are read first. A list without
 * changes is not sent.
 * @param {Path} path
 * @param {Ticks} ticks
 */
async function patchOf(path, ticks) {
  const now = await api.get(path);
  const touched = /** @type {const} */ (['roles', 'groups']).filter((what) => anyChange(now[what], ticks[what]));
  return Object.fromEntries(touched.map((what) => [what, withChanges(now[what], ticks[what])]));
}
