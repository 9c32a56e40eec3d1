/** Form fields for users: choice of names, password with generator. */
import { cx, html } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { Button, CopyButton } from '../../ui/button.js';
import { Checkbox, TextInput } from '../../ui/field.js';

/**
 * Checkboxes for names.
 * @param {{label: string, names: string[], chosen: string[], onChange: (names: string[]) => void, none: any, hints?:
 *   Record<string, any>, disabled?: boolean}} props
 */
export function Choice({ label, names, chosen, onChange, none, hints = {}, disabled }) {
  const toggle = (/** @type {string} */ name, /** @type {boolean} */ on) =>
    onChange(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  return html`
    <fieldset class="stack-small">
      <legend class="label choice-name">${label}</legend>
      ${names.length === 0 && html`<p class="muted small">${none}</p>`}
      <div class=${cx('choice', Object.keys(hints).length > 0 && 'choice-wide')}>
        ${names.map(
          (name) =>
            html`
              <${Checkbox} key=${name} label=${html`<span class="mono anywhere">${name}</span>`} hint=${hints[name]}
                disabled=${disabled} checked=${chosen.includes(name)}
                onChange=${(/** @type {boolean} */ on) => toggle(name, on)} />
            `,
        )}
      </div>
    </fieldset>
  `;
}

/**
 * @param {{label?: string, value: string, onInput: (text: string) => void, shown: boolean, onMade: (text: string) =>
 *   void}} props `shown`: the password is readable, because a generated password must be passed on
 */
export function NewPassword({ label = 'Password', value, onInput, shown, onMade }) {
  return html`
    <div class="password-row">
      <${TextInput} label=${label} type=${shown ? 'text' : 'password'} mono=${shown} value=${value} onInput=${onInput}
        required minlength="8" maxlength="1024" autocomplete="new-password"
        hint=${shown ? 'Copy the password now: it is not shown again.' : 'At least 8 characters.'} />
      <div class="password-make">
        <${Button} onClick=${() => onMade(makePassword())}>Make one</${Button}>
        ${shown && html`<${CopyButton} text=${value} label="Copy password">Copy</${CopyButton}>`}
      </div>
    </div>
  `;
}

/** Letters and digits without look-alikes. A password of 20 of these 56 characters has 116 random bits. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

function makePassword() {
  // Bytes from this value on are skipped: they would make some characters more likely than others.
  const fair = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < 20) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32)))
      if (byte < fair && text.length < 20) text += ALPHABET[byte % ALPHABET.length];
  }
  return text;
}

/** @param {{names: string[], none?: string, href?: (name: string) => string | null}} props */
export function Names({ names, none = 'none', href }) {
  if (names.length === 0) return html`<span class="muted">${none}</span>`;
  return html`<span class="names">${names.map((name) => {
    const target = href?.(name);
    const badge = html`<${Badge} mono>${name}</${Badge}>`;
    return target
      ? html`<a key=${name} class="name-link" href=${target}>${badge}</a>`
      : html`<span key=${name}>${badge}</span>`;
  })}</span>`;
}

/** The characters allowed in names of groups and roles. */
export function NameHint() {
  return html`Letters, digits, <code>.</code>, <code>_</code>, <code>-</code>, <code>@</code>, and blanks
    between them.`;
}
