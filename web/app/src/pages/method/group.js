import { html, useState } from '../../lib/preact.js';
import { IconButton } from '../../ui/button.js';
import { Icon } from '../../ui/icon.js';
import { Hint } from './hint.js';

/**
 * A group of fields with a name. The user can fold it.
 * @param {{name: string, shape: import('./schema.js').Shape, required: boolean, error: string, onRemove?: () => void,
 *   children?: any}} props
 */
export function Group({ name, shape, required, error, onRemove, children }) {
  const [open, setOpen] = useState(true);
  return html`
    <fieldset class="schema-group">
      <legend class="label mono">
        <button type="button" class="schema-toggle" aria-expanded=${open} onClick=${() => setOpen(!open)}>
          <${Icon} name=${open ? 'chevron-down' : 'chevron-right'} size=${12} /> ${name}
        </button>
      </legend>
      <div class="schema-group-head">
        <p class="hint grow"><${Hint} shape=${shape} required=${required} /></p>
        ${
          onRemove && html`<${IconButton} icon="close" size="small" label=${`Leave out ${name}`} onClick=${onRemove} />`
        }
      </div>
      ${error && html`<p class="field-error"><${Icon} name="alert" size=${14} /> ${error}</p>`}
      ${open && children}
    </fieldset>
  `;
}
