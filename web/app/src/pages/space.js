/** One space: status, methods, log and actions. */
import { useAction } from '../lib/action.js';
import { api, at } from '../lib/api.js';
import { safeLink } from '../lib/format.js';
import { html, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useDocumentTitle } from '../page-host.js';
import { navigate } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, KeyValue, PageHeader } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { ErrorNotice, Notice, pendingOf } from '../ui/error-notice.js';
import { Time } from '../ui/time.js';
import { toast } from '../ui/toasts.js';
import { LogCard } from './space/log.js';
import { MethodsCard } from './space/methods.js';
import { NextStep } from './space/next-step.js';
import { SettingsCard } from './space/settings.js';
import { AgentDialog } from './spaces/agent-command.js';
import { HealthStatus, LinkStatus, RegistrationStatus, StateStatus } from './spaces/status.js';

/** @import { Space } from 'api' */

await loadStyles('spaces.css');

const BACK = { href: '/spaces', label: 'Spaces' };

/** @param {{route: import('../routes.js').Route}} props */
export default function SpacePage({ route }) {
  const resource = useResource(at('/api/spaces/{id}', { id: route.params.id }), { every: 2_000 });
  const space = /** @type {Space | null} */ (resource.data);
  const [asking, setAsking] = useState(/** @type {'' | 'stop' | 'rotate' | 'delete'} */ (''));
  const [token, setToken] = useState('');
  useDocumentTitle(space?.name);
  const start = useAction(async () => {
    if (!space) return;
    resource.set(await api.post(at('/api/spaces/{id}/start', { id: space.id })));
    // The agent of an external space retries every few seconds and links by itself.
    toast(
      space.runtime === 'local'
        ? `Space ${space.name} started`
        : `Space ${space.name} started: its agent may link again`,
    );
  });
  if (!space) return pendingOf(resource, { page: true, back: BACK });
  const gone = resource.error?.status === 404;
  return html`
    <${PageHeader} title=${space.name} mono back=${BACK}
      actions=${!gone && html`<${Actions} space=${space} start=${start} onAsk=${setAsking} />`}>
      <${StateStatus} space=${space} />
    </${PageHeader}>
    <div class="stack-large">
      <${ErrorNotice} error=${start.error} title="The space was not started" />
      ${
        gone
          ? html`
            <${Notice} tone="warn" icon="alert" title="This space is gone">
              <p>It was deleted. This page shows the last known data.</p>
            </${Notice}>
          `
          : html`<${ErrorNotice} error=${resource.error} title="Not up to date" />`
      }
      <${NextStep} space=${space} onRotate=${() => setAsking('rotate')} />
      <div class="columns">
        <${StatusCard} space=${space} />
        <${SettingsCard} space=${space} onChanged=${resource.set} />
      </div>
      <${MethodsCard} space=${space} />
      <${LogCard} id=${space.id} />
    </div>
    <${ConfirmDialogs}
      ...${{ space, asking, onClose: () => setAsking(''), onToken: setToken, onChanged: resource.set }} />
    ${
      token &&
      html`
        <${AgentDialog} title=${`Start the agent of ${space.name}`} space=${space} token=${token}
          onClose=${() => setToken('')} />
      `
    }
  `;
}

/**
 * @param {{space: Space, start: {run: () => Promise<boolean>, busy: boolean}, onAsk: (what: 'stop' | 'rotate' |
 *   'delete') => void}} props
 */
function Actions({ space, start, onAsk }) {
  // A space that the service stopped counts as failing until a user stops it too.
  const canStop = space.state === 'deployed' || space.stop_reason === 'link_lost';
  const canStart = space.state === 'stopped' || (space.state === 'created' && space.runtime === 'local');
  return html`
    ${canStart && html`<${Button} kind="primary" icon="play" busy=${start.busy} onClick=${start.run}>Start</${Button}>`}
    ${canStop && html`<${Button} icon="stop" onClick=${() => onAsk('stop')}>Stop</${Button}>`}
    <${Button} icon="key" onClick=${() => onAsk('rotate')}>Rotate agent token</${Button}>
    <${Button} icon="trash" onClick=${() => onAsk('delete')}>Delete</${Button}>
  `;
}

/** @param {{space: Space}} props */
function StatusCard({ space }) {
  const urls = Object.entries(space.space_urls);
  const templates = useResource(space.template_id ? at('/api/templates/{id}', { id: space.template_id }) : null);
  return html`
    <${Card} title="Status">
      <${KeyValue}
        items=${[
          ['State', html`<${StateStatus} space=${space} />`],
          ['Health', html`<${HealthStatus} space=${space} />`],
          ['Link', html`<${LinkStatus} space=${space} />`],
          ['Registration', html`<${RegistrationStatus} space=${space} />`],
          ['Owner', html`<span class="mono">${space.owner}</span>`],
          ['Agent', space.runtime === 'local' ? 'run by this server' : 'run by its owner'],
          Boolean(space.folder) && ['Folder', html`<span class="mono small anywhere">${space.folder}</span>`],
          Boolean(space.template_id) && [
            'Template',
            html`<span class="mono">${templates.data?.name ?? space.template_id}</span>`,
          ],
          urls.length > 0 && [
            'Addresses',
            html`
              <ul class="stack-small">
                ${urls.map(
                  ([name, url]) =>
                    html`
                      <li key=${name}>
                        ${name}: ${
                          safeLink(url)
                            ? html`
                              <a class="mono" href=${url} target="_blank" rel="noreferrer">${url}</a>
                            `
                            : html`
                              <span class="mono">${url}</span>
                            `
                        }
                      </li>
                    `,
                )}
              </ul>
            `,
          ],
          ['Created', html`<${Time} value=${space.created_at} />`],
          ['Id', html`<span class="mono small">${space.id}</span>`],
        ]} />
    </${Card}>
  `;
}

/**
 * @param {{space: Space, asking: string, onClose: () => void, onToken: (token: string) => void, onChanged: (space:
 *   Space) => void}} props
 */
function ConfirmDialogs({ space, asking, onClose, onToken, onChanged }) {
  const stop = async () => {
    onChanged(await api.post(at('/api/spaces/{id}/stop', { id: space.id })));
    toast(`Space ${space.name} stopped`);
  };
  const rotate = async () =>
    onToken((await api.post(at('/api/spaces/{id}/agent-token', { id: space.id }))).agent_token);
  const remove = async () => {
    await api.del(at('/api/spaces/{id}', { id: space.id }));
    toast(`Space ${space.name} deleted`);
    navigate('/spaces', { replace: true });
  };
  if (asking === 'stop') {
    return html`
      <${ConfirmDialog} title=${`Stop ${space.name}?`} action="Stop space" onConfirm=${stop} onClose=${onClose}>
        <p>
          Its methods are unavailable until it is started again. Calls in flight are interrupted, and its agent is
          disconnected.
        </p>
      </${ConfirmDialog}>
    `;
  }
  if (asking === 'rotate') {
    return html`
      <${ConfirmDialog} title="Rotate the agent token?" action="Rotate token" onConfirm=${rotate} onClose=${onClose}>
        <p>The old token becomes invalid at once. Start the agent again with the new token, which is shown once.</p>
      </${ConfirmDialog}>
    `;
  }
  if (asking === 'delete') {
    return html`
      <${ConfirmDialog} title=${`Delete ${space.name}?`} action="Delete space" typed=${space.name} onConfirm=${remove}
        onClose=${onClose}>
        <p>
          Its methods are removed and its agent token is revoked. This cannot be undone.
          ${space.runtime === 'local' && ' Its folder on the server is deleted with it.'}
        </p>
      </${ConfirmDialog}>
    `;
  }
  return null;
}
