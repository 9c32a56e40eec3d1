/** Params to use again: saved by name in this browser, or shared as a link. */
import { copyText } from '../../lib/clipboard.js';
import { html, useEffect, useState } from '../../lib/preact.js';
import { removeSaved, save, savedOf } from '../../lib/saved.js';
import { useQuery } from '../../router.js';
import { IconButton } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { TextInput } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Menu } from '../../ui/menu.js';
import { toast } from '../../ui/toasts.js';

/** The maximum number of characters of a link. Some servers and messengers reject longer links. */
const LINK_MAX = 6_000;
const NAME_MAX = 60;

/**
 * A menu with the saved params of a method.
 * @param {{method: string, text: string, onPick: (text: string) => void}} props `text`: the params of the form
 */
export function SavedMenu({ method, text, onPick }) {
  const [open, setOpen] = useState(/** @type {'' | 'save' | 'remove'} */ (''));
  const saved = savedOf(method);
  const link = linkTo(method, text);
  const items = [
    { label: 'Save these params…', icon: 'plus', onClick: () => setOpen('save') },
    ...(link ? [{ label: 'Copy link with these params', icon: 'copy', onClick: () => void copyLink(link) }] : []),
    ...(saved.length > 0 ? [/** @type {const} */ ('line')] : []),
    ...saved.map(({ name, params }) => ({ label: name, icon: 'clock', onClick: () => onPick(params) })),
    ...(saved.length > 0
      ? [
          /** @type {const} */ ('line'),
          { label: 'Remove saved params…', icon: 'trash', danger: true, onClick: () => setOpen('remove') },
        ]
      : []),
  ];
  const close = () => setOpen('');
  return html`
    <${Menu} class="saved-menu" up label="Saved params and link" items=${items} />
    ${open === 'save' && html`<${SaveDialog} method=${method} text=${text} onClose=${close} />`}
    ${open === 'remove' && html`<${RemoveDialog} method=${method} onClose=${close} />`}
  `;
}

/** @param {{method: string, text: string, onClose: () => void}} props */
function SaveDialog({ method, text, onClose }) {
  const [name, setName] = useState('');
  const trimmed = name.trim();
  const replaces = savedOf(method).some((saved) => saved.name === trimmed);
  const submit = async () => {
    save({ method, name: trimmed, params: text });
    toast(`Params saved as “${trimmed}”`);
    onClose();
  };
  return html`
    <${Dialog} title="Save these params" onClose=${onClose}>
      <${Form} submit=${replaces ? 'Replace' : 'Save'} onSubmit=${submit} onCancel=${onClose}
        disabled=${trimmed === ''}>
        <${TextInput} label="Name" value=${name} maxlength=${NAME_MAX} onInput=${setName}
          hint="Only this browser keeps them. Do not save secrets." />
      </${Form}>
    </${Dialog}>
  `;
}

/** @param {{method: string, onClose: () => void}} props */
function RemoveDialog({ method, onClose }) {
  const [saved, setSaved] = useState(() => savedOf(method));
  const remove = (/** @type {import('../../lib/saved.js').SavedRequest} */ one) => {
    removeSaved(one);
    const left = savedOf(method);
    setSaved(left);
    if (left.length === 0) onClose();
  };
  return html`
    <${Dialog} title="Remove saved params" onClose=${onClose}>
      <ul class="saved-list">
        ${saved.map(
          (one) => html`
            <li key=${one.name} class="row">
              <span class="grow">${one.name}</span>
              <${IconButton} icon="trash" label=${`Remove ${one.name}`} onClick=${() => remove(one)} />
            </li>
          `,
        )}
      </ul>
    </${Dialog}>
  `;
}

/** The address of a method with these params; null if it is too long. @param {string} method @param {string} text */
function linkTo(method, text) {
  const link = `${location.origin}/methods/${encodeURIComponent(method)}?params=${encodeURIComponent(text.trim())}`;
  return link.length <= LINK_MAX ? link : null;
}

/** @param {string} link */
async function copyLink(link) {
  if (await copyText(link)) toast('Link copied');
  else toast('The browser did not allow copying', { kind: 'error' });
}

/**
 * Fills the form with the params of the address, and takes them out of the address.
 * @param {(text: string) => void} onParams
 * @returns {boolean} whether the params came from a link
 */
export function useLinkedParams(onParams) {
  const query = useQuery();
  const [came, setCame] = useState(false);
  const linked = query.get('params');
  useEffect(() => {
    if (!linked) return;
    onParams(linked.slice(0, LINK_MAX));
    setCame(true);
    query.set({ params: null });
  }, [linked]);
  return came;
}
