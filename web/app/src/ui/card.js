import { cx, html, useId } from '../lib/preact.js';

/**
 * @param {object} props
 * @param {any} [props.title] makes the card a section with this accessible name
 * @param {any} [props.description]
 * @param {any} [props.actions]
 * @param {boolean} [props.flush] no padding, for a table or a list
 * @param {string} [props.class]
 * @param {2 | 3} [props.level] of the heading
 * @param {string} [props.id]
 * @param {any} [props.children]
 */
export function Card({ title, description, actions, flush, class: className, level = 2, id: anchor, children }) {
  const id = useId();
  return html`
    <section class=${cx('card', flush && 'card-flush', className)} id=${anchor}
      aria-labelledby=${title ? id : undefined}>
      ${
        title &&
        html`
          <header class="card-header">
            <div class="grow">
              <${`h${level}`} class="card-title" id=${id}>${title}</${`h${level}`}>
              ${description && html`<p class="card-description">${description}</p>`}
            </div>
            ${actions && html`<div class="actions">${actions}</div>`}
          </header>
        `
      }
      <div class="card-body">${children}</div>
    </section>
  `;
}

/**
 * The head of a page: its only h1.
 * @param {{title: any, description?: any, actions?: any, back?: {href: string, label: string}, mono?: boolean,
 *   children?: any}} props
 *   `children` are shown after the title, for example a status
 */
export function PageHeader({ title, description, actions, back, mono, children }) {
  return html`
    <header class="page-header">
      ${back && html`<a class="back-link" href=${back.href}><span aria-hidden="true">←</span> ${back.label}</a>`}
      <div class="page-header-row">
        <div class="grow">
          <div class="page-title-row"><h1 class=${mono ? 'mono' : undefined}>${title}</h1>${children}</div>
          ${description && html`<p class="page-description">${description}</p>`}
        </div>
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
    </header>
  `;
}

/** One figure and its label. @param {{label: any, value: any, hint?: any, href?: string, children?: any}} props */
export function Stat({ label, value, hint, href, children }) {
  const content = html`
    <span class="stat-label">${label}</span>
    <span class="stat-value">${value}</span>
    ${hint && html`<span class="stat-hint">${hint}</span>`}
    ${children}
  `;
  return href ? html`<a class="stat stat-link" href=${href}>${content}</a>` : html`<div class="stat">${content}</div>`;
}

/**
 * Names and values.
 * @param {{items: ([any, any] | false | null | undefined)[], class?: string}} props
 */
export function KeyValue({ items, class: className }) {
  const rows = /** @type {[any, any][]} */ (items.filter(Boolean));
  return html`
    <dl class=${cx('key-value', className)}>
      ${rows.map(([name, value], index) => html`<div key=${index}><dt>${name}</dt><dd>${value}</dd></div>`)}
    </dl>
  `;
}
