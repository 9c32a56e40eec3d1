import { copyText } from '../lib/clipboard.js';
import { cx, html, useEffect, useState } from '../lib/preact.js';
import { Icon } from './icon.js';
import { Spinner, useSlow } from './spinner.js';

/**
 * A button, or with `href` a link that looks like one.
 * @param {object} props
 * @param {'primary' | 'secondary' | 'ghost' | 'danger'} [props.kind]
 * @param {'small' | 'medium'} [props.size]
 * @param {string} [props.icon]
 * @param {string} [props.href]
 * @param {boolean} [props.busy] disabled; a spinner appears after 300 ms
 * @param {boolean} [props.disabled]
 * @param {'button' | 'submit'} [props.type]
 * @param {string} [props.class]
 * @param {any} [props.children]
 * @param {(event: any) => void} [props.onClick] other attributes of a button are accepted too
 */
export function Button({
  kind = 'secondary',
  size = 'medium',
  icon,
  href,
  busy = false,
  disabled,
  type = 'button',
  class: className,
  children,
  ...rest
}) {
  const slow = useSlow(busy);
  const classes = cx('button', `button-${kind}`, size === 'small' && 'button-small', className);
  const content = html`${slow ? html`<${Spinner} />` : icon && html`<${Icon} name=${icon} />`}${children}`;
  if (href) return html`<a class=${classes} href=${href} ...${rest}>${content}</a>`;
  return html`
    <button class=${classes} type=${type} disabled=${disabled || busy} aria-busy=${busy || undefined} ...${rest}>
      ${content}
    </button>
  `;
}

/**
 * @param {{icon: string, label: string, onClick?: (event: any) => void, href?: string, size?: 'small' | 'medium',
 *   class?: string, [key: string]: any}} props
 */
export function IconButton({ icon, label, size = 'medium', href, class: className, ...rest }) {
  const classes = cx('icon-button', size === 'small' && 'icon-button-small', className);
  if (href)
    return html`
      <a class=${classes} href=${href} aria-label=${label} title=${label} ...${rest}><${Icon} name=${icon} /></a>
    `;
  return html`
    <button type="button" class=${classes} aria-label=${label} title=${label} ...${rest}>
      <${Icon} name=${icon} />
    </button>
  `;
}

/** How long "Copied" is shown. */
const COPIED_MS = 1_500;

/**
 * @param {{text: string | (() => string), label?: string, children?: any, class?: string, kind?: 'primary' |
 *   'secondary' | 'ghost'}} props
 *   without children, the button shows only an icon, and `label` is its name for screen readers
 */
export function CopyButton({ text, label = 'Copy', children, class: className, kind = 'secondary' }) {
  const [state, setState] = useState('');
  useEffect(() => {
    if (!state) return undefined;
    const timer = setTimeout(() => setState(''), COPIED_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () =>
    setState((await copyText(typeof text === 'function' ? text() : text)) ? 'Copied' : 'Not copied');
  const icon = state === 'Copied' ? 'check' : 'copy';
  const status = html`<span class="visually-hidden" role="status">${state}</span>`;
  if (children)
    return html`
      <${Button} kind=${kind} icon=${icon} class=${className} onClick=${copy}>${state || children}</${Button}>${status}
    `;
  return html`
    <${IconButton} icon=${icon} label=${state || label} size="small" class=${cx('copy-button', className)}
      onClick=${copy} />
    ${status}
  `;
}
