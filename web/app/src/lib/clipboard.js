/**
 * Copies text. The clipboard API exists only on https and localhost, so plain http falls back to `execCommand` on a
 * hidden field.
 * @param {string} text
 * @returns {Promise<boolean>} whether the text was copied
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByField(text);
  }
}

/** @param {string} text */
function copyByField(text) {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  // While a dialog is open, all elements outside it are inert, so the field must be inside the dialog.
  const host = document.querySelector('dialog[open]') ?? document.body;
  const focused = document.activeElement;
  host.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
