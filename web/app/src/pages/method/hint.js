/** The hint of a field: type, required or optional, limits and description. */
import { isNumber, numberText } from '../../lib/exact.js';
import { html, useContext } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { inlineMarkdown } from '../../ui/markdown.js';
import { defaultText, limitsOf, typeText } from './check.js';
import { FormContext } from './form-context.js';

/** @param {{shape: import('./schema.js').Shape, required: boolean, note?: string}} props */
export function Hint({ shape, required, note }) {
  const { root } = useContext(FormContext);
  const { schema } = shape;
  const type = typeText(schema, root);
  const usual = defaultText(schema);
  const words = [required ? 'required' : 'optional', ...limitsOf(schema), usual && `default ${usual}`, note].filter(
    Boolean,
  );
  return html`
    <span class="schema-hint">
      <span class="mono">${type}${shape.nullable && !type.endsWith('null') ? ' or null' : ''}</span>
      , ${words.join(', ')}${schema.deprecated === true && html` <${Badge} tone="warn">deprecated</${Badge}>`}
    </span>
    ${
      typeof schema.description === 'string' &&
      html`<span class="schema-description">${inlineMarkdown(schema.description)}</span>`
    }
  `;
}

/** An example value. @param {import('./schema.js').Schema} schema */
export function exampleOf(schema) {
  const first = Array.isArray(schema.examples) ? schema.examples[0] : schema.example;
  if (isNumber(first)) return `For example ${numberText(first)}`;
  return typeof first === 'string' ? `For example ${first}` : undefined;
}
