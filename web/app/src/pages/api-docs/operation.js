/** One operation of the API. When closed, it shows its path and summary; when open, all details. */
import { html, useState } from '../../lib/preact.js';
import { Badge } from '../../ui/badge.js';
import { CodeBlock } from '../../ui/code-block.js';
import { withCode } from '../../ui/rich-text.js';
import { Fields, typeOf } from './fields.js';

/** @type {Record<string, import('../../ui/badge.js').Tone>} */
const TONES = { get: 'accent', post: 'good', patch: 'warn', delete: 'bad' };

/** @param {{entry: import('../api-docs.js').Entry, schemas: any}} props */
export function Operation({ entry, schemas }) {
  const [open, setOpen] = useState(false);
  const { method, path, operation } = entry;
  return html`
    <details class="api-operation" open=${open}
      onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
      <summary>
        <${Badge} mono tone=${TONES[method]}>${method.toUpperCase()}</${Badge}>
        <span class="mono anywhere">${path}</span>
        <span class="muted small">${operation.summary}</span>
      </summary>
      ${open && html`<${Details} operation=${operation} schemas=${schemas} />`}
    </details>
  `;
}

/** @param {{operation: any, schemas: any}} props */
function Details({ operation, schemas }) {
  const { description, parameters, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  return html`
    <div class="api-details">
      <p class="muted">${withCode(description)}</p>
      ${parameters.length > 0 && html`<h3>Parameters</h3><${Parameters} parameters=${parameters} schemas=${schemas} />`}
      ${
        body &&
        html`
          <h3>Body${!requestBody.required && html` <span class="muted small">may be left out</span>`}</h3>
          <${Fields} schema=${body.schema} schemas=${schemas} />
          <${CodeBlock} text=${JSON.stringify(body.example, null, 2)} language="json" label="example of a body" />
        `
      }
      <h3>Answers</h3>
      ${Object.entries(responses).map(
        ([status, response]) =>
          html`<${Answer} key=${status} status=${status} response=${response} schemas=${schemas} />`,
      )}
    </div>
  `;
}

/** @param {{parameters: any[], schemas: any}} props */
function Parameters({ parameters, schemas }) {
  return html`
    <ul class="api-fields">
      ${parameters.map(
        (parameter) =>
          html`
            <li key=${parameter.name}>
              <code>${parameter.name}</code>
              <span class="muted small">${parameter.in}, ${typeOf(parameter.schema, schemas)}</span>
              ${parameter.description && html`<span class="small">${withCode(parameter.description)}</span>`}
            </li>
          `,
      )}
    </ul>
  `;
}

/** @param {{status: string, response: any, schemas: any}} props */
function Answer({ status, response, schemas }) {
  const json = response.content?.['application/json'];
  const [first, ...codes] = /** @type {string[]} */ (response.description.split('\n').filter(Boolean));
  const bad = Number(status) >= 400;
  return html`
    <div class="api-answer">
      <p><${Badge} mono tone=${bad ? 'bad' : 'good'}>${status}</${Badge}> ${first}</p>
      ${
        codes.length > 0 &&
        html`
          <ul class="api-codes small">
            ${codes.map((code) => html`<li key=${code}>${withCode(code.replace(/^- /, ''))}</li>`)}
          </ul>
        `
      }
      ${
        json &&
        html`
          <${Fields} schema=${json.schema} schemas=${schemas} />
          <${CodeBlock} text=${JSON.stringify(json.example, null, 2)} language="json"
            label=${`example of an answer with status ${status}`} />
        `
      }
    </div>
  `;
}
