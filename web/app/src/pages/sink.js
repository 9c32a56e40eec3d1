/** One sink: health, deliveries and configuration. */
import { useAction } from '../lib/action.js';
import { api, at } from '../lib/api.js';
import { useStoredDraft } from '../lib/draft.js';
import { formatNumber, plural } from '../lib/format.js';
import { html, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useDocumentTitle } from '../page-host.js';
import { navigate, useQuery, useUnsaved } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader, Stat } from '../ui/card.js';
import { ConfirmDialog } from '../ui/dialog.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { Menu } from '../ui/menu.js';
import { Meter } from '../ui/meter.js';
import { SecretDialog } from '../ui/secret-once.js';
import { Tabs } from '../ui/tabs.js';
import { toast } from '../ui/toasts.js';
import { RangeCharts } from './charts/range-charts.js';
import { Deliveries } from './sinks/deliveries.js';
import { RotateDialog, TestDialog } from './sinks/dialogs.js';
import { draftName, draftOf, movesOrigin, patchOf, UNSTORED } from './sinks/draft.js';
import { SinkEditor } from './sinks/editor.js';
import { hasQueue, LastResult, Patterns, QUEUE_CAPACITY, SinkBadges, SinkStatus } from './sinks/health.js';
import { ReplayDialog } from './sinks/resend-dialogs.js';
import { StateNotice } from './sinks/state-notice.js';

/** @import { Sink } from 'api' */

await Promise.all([loadStyles('sinks.css'), loadStyles('events.css')]);

/** @typedef {import('../lib/resource.js').Resource<Sink>} SinkResource */

const REFRESH_MS = 3_000;
const BACK = { href: '/sinks', label: 'Sinks' };

/** @param {{route: {params: Record<string, string>}}} props */
export default function SinkPage({ route }) {
  const [dialog, setDialog] = useState('');
  const [gone, setGone] = useState(false);
  // Polling stops before the sink is deleted: after that, the response would be a 404.
  const still = gone || dialog === 'delete';
  /** @type {SinkResource} */
  const resource = useResource(still ? null : at('/api/event-sinks/{id}', { id: route.params.id }), {
    every: REFRESH_MS,
  });
  const sink = resource.data;
  useDocumentTitle(sink?.name ?? 'Sink');
  if (!sink) return pendingOf(resource, { page: true, back: BACK });
  // The sink was deleted elsewhere: show the error instead of old data.
  if (resource.error?.status === 404) return pendingOf({ ...resource, data: null }, { page: true, back: BACK });
  return html`
    <${Header} sink=${sink} resource=${resource} onDialog=${setDialog} />
    <${Body} sink=${sink} resource=${resource} still=${still} />
    <${OpenDialog} name=${dialog} sink=${sink} onClose=${() => setDialog('')} onChange=${resource.reload}
      onGone=${() => setGone(true)} />
  `;
}

/** @param {{sink: Sink, resource: SinkResource, onDialog: (name: string) => void}} props */
function Header({ sink, resource, onDialog }) {
  const toggle = useAction(async () => {
    const changed = await api.patch(at('/api/event-sinks/{id}', { id: sink.id }), { active: !sink.active });
    resource.set(changed);
    toast(!changed.active ? 'Sink disabled' : sink.paused ? 'Sink resumed' : 'Sink enabled');
  });
  const items = [
    sink.type === 'webhook' && { label: 'Rotate secret', icon: 'key', onClick: () => onDialog('rotate') },
    { label: 'Delete sink', icon: 'trash', danger: true, onClick: () => onDialog('delete') },
  ].filter((item) => item !== false);
  return html`
    <${PageHeader} title=${sink.name} mono back=${BACK} description=${sink.description}
      actions=${html`
        <${Button} icon="send" onClick=${() => onDialog('test')}>Test</${Button}>
        ${hasQueue(sink) && html`<${Button} icon="clock" onClick=${() => onDialog('replay')}>Replay</${Button}>`}
        <${Button} icon=${sink.active ? 'pause' : 'play'} kind=${sink.paused ? 'primary' : 'secondary'}
          busy=${toggle.busy} onClick=${() => toggle.run()}>
          ${sink.active ? 'Disable' : sink.paused ? 'Resume' : 'Enable'}
        </${Button}>
        <${Menu} label="More actions" items=${items} />
      `}>
      <${SinkStatus} sink=${sink} /><${SinkBadges} sink=${sink} />
    </${PageHeader}>
    <${ErrorNotice} error=${toggle.error} />
  `;
}

/** @param {{sink: Sink, resource: SinkResource, still: boolean}} props */
function Body({ sink, resource, still }) {
  const query = useQuery();
  const tabs = [
    { id: 'deliveries', label: hasQueue(sink) ? 'Deliveries' : 'Used by' },
    ...(hasQueue(sink) ? [{ id: 'stats', label: 'Statistics' }] : []),
    { id: 'settings', label: 'Settings' },
  ];
  const tab = tabs.find(({ id }) => id === query.get('tab'))?.id ?? 'deliveries';
  const choose = (/** @type {string} */ id) => query.set({ tab: id === 'deliveries' ? null : id, range: null });
  return html`
    <div class="stack-large">
      <${StateNotice} sink=${sink} />
      ${hasQueue(sink) && html`<${Stats} sink=${sink} />`}
      <${Tabs} label="Sink" tabs=${tabs} value=${tab} onChange=${choose}>
        ${tab === 'settings' && html`<${Settings} key=${sink.id} sink=${sink} onSaved=${resource.set} />`}
        ${
          tab === 'stats' &&
          html`<${RangeCharts} path=${at('/api/event-sinks/{id}/stats', { id: sink.id })} one="attempt" />`
        }
        ${
          tab === 'deliveries' &&
          (hasQueue(sink)
            ? html`<${Deliveries} sink=${sink} still=${still} onChange=${resource.reload} />`
            : html`<${UsedBy} sink=${sink} />`)
        }
      </${Tabs}>
    </div>
  `;
}

/** @param {{sink: Sink}} props */
function Stats({ sink }) {
  const { lost = 0, dropped } = sink;
  const replayed = dropped - lost;
  const hints = [
    lost > 0 && 'dropped while the queue was full, not replayed',
    replayed > 0 && `${plural(replayed, 'dropped event')} replayed`,
  ];
  return html`
    <div class="sink-stats">
      <${Stat} label="Queue" value=${html`${sink.queue_depth}<span class="muted stat-of">/${QUEUE_CAPACITY}</span>`}>
        <${Meter} value=${sink.queue_depth} max=${QUEUE_CAPACITY} label="Queue" />
      </${Stat}>
      <${Stat} label="Lost" value=${formatNumber(lost)} hint=${hints.filter(Boolean).join('; ') || 'none'} />
      <div class="stat"><span class="stat-label">Last result</span><${LastResult} sink=${sink} /></div>
      <div class="stat"><span class="stat-label">Patterns</span><${Patterns} patterns=${sink.patterns} all /></div>
    </div>
  `;
}

/** @param {{sink: Sink, onSaved: (sink: Sink) => void}} props */
function Settings({ sink, onSaved }) {
  const [saved, setSaved] = useState(() => draftOf(sink));
  const [name] = useState(() => draftName(sink));
  const [draft, setDraft, forget] = useStoredDraft(name, saved, { omit: UNSTORED });
  const [secret, setSecret] = useState('');
  const patch = patchOf(saved, draft);
  const dirty = Object.keys(patch).length > 0;
  useUnsaved(dirty, { stored: true });
  const discard = () => {
    setDraft(saved);
    forget(saved);
  };
  const submit = async () => {
    const changed = await api.patch(at('/api/event-sinks/{id}', { id: sink.id }), patch);
    const now = draftOf(changed);
    // A secret that the user entered is not shown again.
    setSecret((!draft.secret.trim() && changed.webhook?.secret) || '');
    setSaved(now);
    setDraft(now);
    forget(now);
    onSaved(changed);
    toast('Sink saved');
  };
  return html`
    ${
      secret &&
      html`
        <${SecretDialog} title="New signing secret" label="secret" secret=${secret} onClose=${() => setSecret('')}>
          <p class="muted small">The old secret is not valid any more: it was for the old receiver.</p>
        </${SecretDialog}>
      `
    }
    <${SinkEditor} draft=${draft} submit="Save changes" disabled=${!dirty} onSubmit=${submit}
      moved=${movesOrigin(saved, draft)} onDiscard=${dirty ? discard : undefined}
      change=${(/** @type {Partial<import('./sinks/draft.js').Draft>} */ part) =>
        setDraft((old) => ({ ...old, ...part }))} />
  `;
}

/** A formatter (json-rpc sink) has no deliveries. Lists the methods that name it. @param {{sink: Sink}} props */
function UsedBy({ sink }) {
  const methods = useResource('/api/methods', { every: 10_000 });
  const pending = pendingOf(methods);
  if (pending || !methods.data) return pending;
  const users = methods.data.methods.filter((method) => method.event_sinks.includes(sink.name));
  return html`
    <${Card} title="Methods that use it"
      description="For methods that name it in event_sinks, it turns events that match its patterns into params.">
      ${
        users.length === 0
          ? html`
            <p class="muted">
              None of your methods names it. In a registration: <code>event_sinks = ["${sink.name}"]</code>
            </p>
          `
          : html`
            <ul class="stack-small">
              ${users.map(
                (method) =>
                  html`
                    <li key=${method.name}>
                      <a class="mono" href=${`/methods/${encodeURIComponent(method.name)}`}>${method.name}</a>
                    </li>
                  `,
              )}
            </ul>
          `
      }
    </${Card}>
  `;
}

/** @param {{name: string, sink: Sink, onClose: () => void, onChange: () => void, onGone: () => void}} props */
function OpenDialog({ name, sink, onClose, onChange, onGone }) {
  if (name === 'test') return html`<${TestDialog} sink=${sink} onClose=${onClose} />`;
  if (name === 'replay') return html`<${ReplayDialog} sink=${sink} onClose=${onClose} onDone=${onChange} />`;
  if (name === 'rotate') return html`<${RotateDialog} sink=${sink} onClose=${onClose} />`;
  if (name !== 'delete') return null;
  const remove = async () => {
    await api.del(at('/api/event-sinks/{id}', { id: sink.id }));
    onGone();
    toast(`Sink ${sink.name} deleted`);
    navigate('/sinks');
  };
  return html`
    <${ConfirmDialog} title="Delete this sink?" action="Delete sink" typed=${sink.name} onClose=${onClose}
      onConfirm=${remove}>
      <p>
        It takes no more events, and its delivery log is deleted too.
        ${sink.queue_depth > 0 && html` <strong>${sink.queue_depth} in its queue will never be delivered.</strong>`}
      </p>
    </${ConfirmDialog}>
  `;
}
