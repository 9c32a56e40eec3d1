/** A new sink. */
import { api } from '../lib/api.js';
import { useStoredDraft } from '../lib/draft.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { navigate, useQuery, useUnsaved } from '../router.js';
import { PageHeader } from '../ui/card.js';
import { SecretDialog } from '../ui/secret-once.js';
import { toast } from '../ui/toasts.js';
import { bodyOf, newDraft, UNSTORED } from './sinks/draft.js';
import { SinkEditor } from './sinks/editor.js';
import { TYPE_NAMES } from './sinks/health.js';

/** @import { Sink } from 'api' */

await loadStyles('sinks.css');

/** @typedef {import('./sinks/draft.js').Draft} Draft */

export default function NewSinkPage() {
  const query = useQuery();
  const [initial] = useState(() => firstDraft(query));
  const [draft, setDraft, forget] = useStoredDraft(nameOf(initial), initial, { omit: UNSTORED });
  const [made, setMade] = useState(/** @type {Sink | null} */ (null));
  const changed = JSON.stringify(draft) !== JSON.stringify(initial) && !made;
  useUnsaved(changed, { stored: true });
  const change = (/** @type {Partial<Draft>} */ part) => setDraft((old) => ({ ...old, ...part }));
  const discard = () => {
    setDraft(initial);
    forget(initial);
  };
  const submit = async () => {
    setMade(await api.post('/api/event-sinks', bodyOf(draft)));
    forget();
  };
  // A secret that the user entered is not shown again.
  const secret = draft.secret.trim() ? undefined : made?.webhook?.secret;
  const leave = () => {
    if (!made) return;
    toast(`Sink ${made.name} created`);
    navigate(`/sinks/${made.id}`);
  };
  useEffect(() => {
    if (made && !secret) leave();
  }, [made]);
  return html`
    <${PageHeader} title="New sink" back=${{ href: '/sinks', label: 'Sinks' }}
      description="A stored receiver of events." />
    <${SinkEditor} isNew draft=${draft} change=${change} submit="Create sink" disabled=${made !== null}
      onSubmit=${submit} onDiscard=${changed ? discard : undefined} />
    ${
      made &&
      secret &&
      html`
        <${SecretDialog} title="Signing secret" label="secret" secret=${secret} onClose=${leave}>
          <p class="muted small">
            The receiver uses it to verify the signature of
            requests: <code>webhook-signature</code> and <code>X-Service-Signature</code>.
          </p>
        </${SecretDialog}>
      `
    }
  `;
}

/** The name of the stored draft. Links with different initial values have different drafts. @param {Draft} initial */
const nameOf = ({ patterns, type, scriptId }) => `sink-new.${type}.${scriptId}.${patterns}`;

/** Other pages link here with `?pattern=`, `?type=` or `?script=`. @param {ReturnType<typeof useQuery>} query */
function firstDraft(query) {
  const type = /** @type {Draft['type']} */ (
    Object.hasOwn(TYPE_NAMES, query.get('type')) ? query.get('type') : 'webhook'
  );
  const scriptId = query.get('script');
  return newDraft({
    patterns: query.get('pattern'),
    type: scriptId ? 'script' : type,
    stored: scriptId !== '',
    scriptId,
  });
}
