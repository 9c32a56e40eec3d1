/** The expiry of a token: a preset, a number of days, or never. */
import { dayOf } from '../../lib/format.js';
import { html, useState } from '../../lib/preact.js';
import { Select, TextInput } from '../../ui/field.js';

/** The maximum that the server accepts. */
const DAYS_MAX = 3650;
const DAY_MS = 24 * 3_600_000;
const OPTIONS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'One year' },
  { value: 'other', label: 'Another number of days' },
  { value: 'never', label: 'Never' },
];

/** @typedef {ReturnType<typeof useExpiry>} Expiry */

/** @param {string} [first] */
export function useExpiry(first = '90') {
  const [choice, setChoice] = useState(first);
  const [other, setOther] = useState('');
  /** The value for the API; undefined means never. @returns {number | undefined} */
  const days = () => (choice === 'never' ? undefined : Number(choice === 'other' ? other : choice));
  return { choice, setChoice, other, setOther, days };
}

/** @param {{expiry: Expiry}} props */
export function ExpiryFields({ expiry }) {
  const days = expiry.days();
  const known = days !== undefined && Number.isInteger(days) && days > 0 && days <= DAYS_MAX;
  const hint =
    days === undefined ? 'It works until you revoke it.' : known && `It ends on ${dayOf(Date.now() + days * DAY_MS)}.`;
  return html`
    <${Select} label="Expires after" value=${expiry.choice} onInput=${expiry.setChoice} options=${OPTIONS}
      hint=${hint} />
    ${
      expiry.choice === 'other' &&
      html`
        <${TextInput} label="Days" type="number" min="1" max=${DAYS_MAX} step="1" value=${expiry.other}
          onInput=${expiry.setOther} required />
      `
    }
  `;
}
