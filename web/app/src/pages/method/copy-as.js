import { html, useState } from '../../lib/preact.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Tabs } from '../../ui/tabs.js';
import { cliOf, curlOf, mcpOf, pythonOf, typescriptOf } from './snippets.js';

const FORMS = /** @type {const} */ ([
  { id: 'curl', label: 'curl', language: 'shell', write: curlOf },
  { id: 'cli', label: 'CLI', language: 'shell', write: cliOf },
  { id: 'python', label: 'Python', language: 'python', write: pythonOf },
  { id: 'typescript', label: 'TypeScript', language: 'javascript', write: typescriptOf },
  { id: 'mcp', label: 'MCP', language: 'shell', write: mcpOf },
]);

/**
 * The call with these params, for other tools.
 * @param {{name: string, tool: string | null, params: any}} props `tool`: the name of the MCP tool, if
 *   the method is one
 */
export function CopyAs({ name, tool, params }) {
  const [chosen, setChosen] = useState(/** @type {string} */ ('curl'));
  const forms = FORMS.filter(({ id }) => id !== 'mcp' || tool);
  const form = forms.find((one) => one.id === chosen) ?? FORMS[0];
  const text = form.write({ origin: location.origin, name, tool, params });
  const note =
    chosen === 'cli'
      ? html`Inside a space no login is needed; elsewhere run <code>svc login</code> first.`
      : html`
        Put an <a href="/tokens">API token</a> into the variable <code>SVC_TOKEN</code>
        ; its scope <code>${chosen === 'mcp' ? 'mcp' : 'methods'}</code> is enough.
      `;
  return html`
    <${Card} title="Copy as" description="This call, with the params above.">
      <${Tabs} label="Copy as" tabs=${forms.map(({ id, label }) => ({ id, label }))} value=${chosen}
        onChange=${setChosen}>
        <div class="stack-small">
          <${CodeBlock} text=${text} language=${form.language} label=${`${form.label} call`} wrap />
          <p class="hint">${note}</p>
        </div>
      </${Tabs}>
    </${Card}>
  `;
}
