/** The quotas of one user: how much is used, and fields for values that replace the server's defaults. */

import { useAction } from '../../lib/action.js';
import { me } from '../../lib/me.js';
import { html, useState } from '../../lib/preact.js';
import { QUOTAS, quotaPatch } from '../../lib/quotas.js';
import { useUnsaved } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { QuotaUseTable } from './quota-use.js';

/** @import { User } from 'api' */

/** @param {{user: User, onChange: (patch: object) => Promise<void>}} props */
export function QuotasCard({ user, onChange }) {
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ ({}));
  const stored = user.quotas ?? {};
  const dirty = Object.entries(typed).some(([name, text]) => text !== String(stored[name] ?? ''));
  // Users without the role `admin` cannot change their own quotas.
  const refused = user.id === me.value?.id && !me.value?.roles.includes('admin');
  useUnsaved(dirty);
  const save = useAction(async () => {
    await onChange({ quotas: quotaPatch(stored, typed) });
    setTyped({});
    toast('Quotas saved');
  });
  const reset = () => {
    setTyped({});
    save.clear();
  };
  return html`
    <${Card} title="Quotas" description="Limits of this user. An empty field means the server's default.">
      <${QuotaUseTable} user=${user.id} />
      <${Form} submit="Save quotas" action=${save} disabled=${!dirty}
        more=${dirty && html`<${Button} onClick=${reset}>Discard changes</${Button}>`}>
        <div class="stats">
          ${QUOTAS.map(
            ([name, label]) => html`
              <${TextInput} key=${name} label=${label} name=${name} inputmode="numeric" pattern="[0-9]*"
                placeholder="server's value" disabled=${refused}
                value=${typed[name] ?? String(stored[name] ?? '')}
                onInput=${(/** @type {string} */ text) => setTyped({ ...typed, [name]: text })} />
            `,
          )}
        </div>
        ${refused && html`<p class="muted small">You cannot change your own quotas; ask an administrator.</p>`}
      </${Form}>
    </${Card}>
  `;
}
