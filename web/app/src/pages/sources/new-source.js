/** The form of a new source, and its URL and secret afterwards. */
import { api } from '../../lib/api.js';
import { useStoredDraft } from '../../lib/draft.js';
import { html } from '../../lib/preact.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Select, TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { SecretDialog } from '../../ui/secret-once.js';

/** @import { Source } from 'api' */

const TYPES = [
  { value: 'github', label: 'GitHub' },
  { value: 'gitlab', label: 'GitLab' },
  { value: 'stripe', label: 'Stripe' },
  { value: 'slack', label: 'Slack' },
  { value: 'shopify', label: 'Shopify' },
  { value: 'standard', label: 'Standard Webhooks' },
  { value: 'hmac', label: 'Another HMAC' },
  { value: 'basic', label: 'User name and password' },
  { value: 'none', label: 'No verification' },
];

/** The hint about the secret of each type. @type {Record<string, string>} */
const SECRET_HINTS = {
  stripe: 'Stripe shows it after you added the URL. Leave it empty now, and replace it then.',
  slack: 'The signing secret of the Slack app.',
  shopify: 'Shopify shows it below the list of webhooks.',
  standard: 'whsec_… as the sender shows it.',
  basic: 'User name, colon, password.',
};

/** Senders that sign the body alone, so that equal bodies cannot be told apart. */
const BODY_SIGNED = ['github', 'gitlab', 'shopify', 'hmac'];
const REPETITIONS = [
  { value: 'body', label: 'Repetitions: one event' },
  { value: 'none', label: 'Different deliveries: one event each' },
];

/** @param {{onClose: () => void, onCreated: (source: Source) => void}} props */
export function NewSourceDialog({ onClose, onCreated }) {
  const [draft, setDraft, forget] = useStoredDraft(
    'source-new',
    { name: '', type: 'github', secret: '', header: '', prefix: '', deduplicate: 'body' },
    { omit: ['secret'] },
  );
  const { name, type, secret, header, prefix, deduplicate } = draft;
  const put = (/** @type {keyof typeof draft} */ member) => (/** @type {string} */ value) =>
    setDraft((old) => ({ ...old, [member]: value }));
  const submit = async () => {
    const hmac = type === 'hmac' ? { header: header.trim(), prefix: prefix || undefined } : {};
    const repetitions = BODY_SIGNED.includes(type) && deduplicate === 'none' ? { deduplicate } : {};
    const verify = { type, secret: type === 'none' ? undefined : secret || undefined, ...hmac, ...repetitions };
    const created = await api.post('/api/sources', { name: name.trim(), verify });
    forget();
    onCreated(created);
  };
  const close = () => {
    forget();
    onClose();
  };
  return html`
    <${Dialog} title="New source" onClose=${close}>
      <${Form} submit="Create source" onSubmit=${submit} onCancel=${close}>
        <${TextInput} label="Name" value=${name} onInput=${put('name')} placeholder="github" autocomplete="off"
          maxlength="48" required hint=${`Its events are source.${name.trim() || 'name'}.…`} />
        <${Select} label="Sender" value=${type} options=${TYPES} onInput=${put('type')} />
        ${
          type === 'hmac' &&
          html`
            <${TextInput} label="Header of the signature" value=${header} onInput=${put('header')} mono required
              placeholder="X-Signature" autocomplete="off" />
            <${TextInput} label="Text before the signature" value=${prefix} onInput=${put('prefix')} mono optional
              placeholder="sha256=" autocomplete="off" hint="Other settings: svc source create --help" />
          `
        }
        ${
          type !== 'none' &&
          html`
            <${TextInput} label="Secret" value=${secret} onInput=${put('secret')} mono optional autocomplete="off"
              hint=${SECRET_HINTS[type] ?? 'Leave it empty to get a new one for the sender.'} />
          `
        }
        ${
          BODY_SIGNED.includes(type) &&
          html`
            <${Select} label="Requests with the same body" value=${deduplicate} options=${REPETITIONS}
              onInput=${put('deduplicate')}
              hint="The sender signs no time, so a copy of a request looks like a new one." />
          `
        }
        ${type === 'none' && html`<p class="muted">Anyone who knows the URL can send events.</p>`}
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{record: Source, onClose: () => void}} props */
export function CreatedDialog({ record: source, onClose }) {
  const { secret } = source.verify;
  return html`
    <${SecretDialog} title=${`Source ${source.name}`} secret=${source.url ?? ''} label="URL" onClose=${onClose}>
      ${
        secret &&
        html`
          <div class="stack-small">
            <p class="muted">The secret, for the sender. It is not shown again either:</p>
            <${CodeBlock} text=${secret} label="secret" wrap />
          </div>
        `
      }
    </${SecretDialog}>
  `;
}
