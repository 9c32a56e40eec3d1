/** The tools that an MCP client of this user sees, with their schemas. */

import { api } from '../../lib/api.js';
import { Refusal } from '../../lib/errors.js';
import { plural } from '../../lib/format.js';
import { hintWords } from '../../lib/hints.js';
import { html } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { hasWords } from '../../lib/search.js';
import { useQuery } from '../../router.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Drawer } from '../../ui/dialog.js';
import { EmptyState } from '../../ui/empty-state.js';
import { ErrorNotice, Notice, pendingOf } from '../../ui/error-notice.js';
import { QuerySearch } from '../../ui/filters.js';
import { HintBadges } from '../../ui/hints.js';
import { JsonView } from '../../ui/json-view.js';
import { Table } from '../../ui/table.js';

/** @import { Method, Script } from 'api' */

/**
 * @typedef {{name: string, title?: string, description?: string, inputSchema: any, outputSchema?: any,
 *   annotations?: Record<string, boolean>}} Tool
 */
/** @typedef {{kind: 'method' | 'script', name: string, href: string}} Origin */
/** Origins by tool name; more than one if names collide. @typedef {Record<string, Origin[]>} Origins */

const EVERY_MS = 5_000;
/** Limit of rows; further tools are found by a search. */
const MOST_ROWS = 200;

export function ToolsCard() {
  const query = useQuery();
  const resource = useResource(loadTools, { every: EVERY_MS });
  const q = query.get('q');
  const { tools = [], origins = {} } = resource.data ?? {};
  const shown = tools.filter((tool) => hasWords(`${tool.name} ${tool.title ?? ''} ${tool.description ?? ''}`, q));
  const open = tools.find((tool) => tool.name === query.get('tool'));
  const show = (/** @type {string | null} */ name) => query.set({ tool: name });
  return html`
    <${Card} title="My tools" flush
      description=${resource.data && `${plural(tools.length, 'tool')} for clients that act as you.`}
      actions=${
        tools.length > 0 &&
        html`
          <${QuerySearch} label="Search tools" />
        `
      }>
      ${
        pendingOf(resource) ??
        html`
          <${ErrorNotice} error=${resource.error} />
          <${NameCollisions} origins=${origins} />
          <${Table} label="Tools" rows=${shown.slice(0, MOST_ROWS)} rowKey=${(/** @type {Tool} */ tool) => tool.name}
            onRow=${(/** @type {Tool} */ tool) => show(tool.name)}
            selected=${(/** @type {Tool} */ tool) => tool === open} columns=${columns(origins)}
            empty=${html`<${Empty} filtered=${tools.length > 0} />`} />
          ${
            shown.length > MOST_ROWS &&
            html`<p class="card-note muted">${plural(shown.length - MOST_ROWS, 'more tool')}: search to find them.</p>`
          }
        `
      }
      ${open && html`<${ToolDrawer} tool=${open} origins=${origins[open.name] ?? []} onClose=${() => show(null)} />`}
    </${Card}>
  `;
}

/** @param {Origins} origins @returns {import('../../ui/table.js').Column<Tool>[]} */
function columns(origins) {
  return [
    { key: 'name', label: 'Tool', shrink: true, cell: (tool) => html`<span class="mono mcp-name">${tool.name}</span>` },
    {
      key: 'description',
      label: 'Description',
      cell: (tool) => tool.description || html`<span class="muted">none</span>`,
    },
    {
      key: 'source',
      label: 'From',
      shrink: true,
      cell: (tool) => html`<${OriginLink} origins=${origins[tool.name] ?? []} />`,
    },
  ];
}

/** @param {{origins: Origin[]}} props */
function OriginLink({ origins: [origin] }) {
  if (!origin) return null;
  return html`<span>${origin.kind} <a class="mono mcp-name" href=${origin.href}>${origin.name}</a></span>`;
}

/** @param {{tool: Tool, origins: Origin[], onClose: () => void}} props */
function ToolDrawer({ tool, origins, onClose }) {
  const hints = hintWords(tool.annotations, 'mcp');
  return html`
    <${Drawer} title=${html`<span class="mono">${tool.name}</span>`} onClose=${onClose}>
      <div class="stack-large">
        ${tool.title && html`<p class="strong anywhere">${tool.title}</p>`}
        ${tool.description && html`<p class="anywhere">${tool.description}</p>`}
        ${hints.length > 0 && html`<${HintBadges} words=${hints} />`}
        ${origins.length > 0 && html`<p class="muted">From <${OriginLink} origins=${origins} /></p>`}
        <section class="stack-small">
          <h3>Input</h3><${JsonView} value=${tool.inputSchema} label="input schema" depth=${4} />
        </section>
        ${
          tool.outputSchema &&
          html`
            <section class="stack-small">
              <h3>Output</h3><${JsonView} value=${tool.outputSchema} label="output schema" depth=${4} />
            </section>
          `
        }
        <section class="stack-small">
          <h3>Call it as an agent would</h3>
          <${CodeBlock} text=${`svc mcp call ${tool.name} '{}'`} label="command" prompt />
        </section>
      </div>
    </${Drawer}>
  `;
}

/** Colliding names: only one origin becomes the tool. @param {{origins: Origins}} props */
function NameCollisions({ origins }) {
  const collisions = Object.entries(origins).filter(([, all]) => all.length > 1);
  if (collisions.length === 0) return null;
  return html`
    <${Notice} tone="warn" icon="alert" title="Some tool names collide">
      ${collisions.map(
        ([tool, all]) =>
          html`
            <p key=${tool}>
              <code>${tool}</code> belongs to one of ${all.map((one) => one.name).join(', ')}. The others are hidden: a
              method can still be called as a method, a script needs another name.
            </p>
          `,
      )}
    </${Notice}>
  `;
}

/** @param {{filtered: boolean}} props */
function Empty({ filtered }) {
  if (filtered)
    return html`
      <${EmptyState} icon="search" level=${3} title="No tool matches"
        action=${html`<${Button} href="/tools">Show all tools</${Button}>`} />
    `;
  return html`
    <${EmptyState} icon="plug" level=${3} title="No tools yet" command="svc methods register methods.toml">
      A method is a tool with <code>mcp_tool = true</code> in its registration; so is every stored script of the
      kind <a href="/scripts">tool</a>.
    </${EmptyState}>
  `;
}

/** @param {AbortSignal} signal @returns {Promise<{tools: Tool[], origins: Origins}>} */
async function loadTools(signal) {
  const [tools, methods, scripts] = await Promise.all([
    listTools(signal),
    api.get('/api/methods', undefined, { signal }),
    listScripts(signal),
  ]);
  return { tools, origins: originsOf(methods.methods, scripts) };
}

/** All stored scripts of the kind tool, page by page. @param {AbortSignal} signal @returns {Promise<Script[]>} */
async function listScripts(signal) {
  const scripts = [];
  let cursor = /** @type {string | null} */ (null);
  do {
    const page = await api.get('/api/scripts', { kind: 'tool', limit: 1000, cursor }, { signal });
    scripts.push(...page.scripts);
    cursor = page.next_cursor;
  } while (cursor);
  return scripts;
}

/** Lists the tools page by page, as a client does. @param {AbortSignal} signal @returns {Promise<Tool[]>} */
async function listTools(signal) {
  /** @type {Tool[]} */
  const tools = [];
  let cursor;
  do {
    const ask = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: cursor ? { cursor } : {} };
    const answer = /** @type {any} */ (await api.post('/mcp', ask, { signal }));
    if (answer.error) throw new Refusal(answer.error.message);
    tools.push(...answer.result.tools);
    cursor = answer.result.nextCursor;
  } while (cursor);
  return tools;
}

/**
 * The method or script of each tool.
 * @param {Method[]} methods
 * @param {Script[]} scripts
 */
function originsOf(methods, scripts) {
  /** @type {Origins} */
  const origins = {};
  const add = (/** @type {string} */ tool, /** @type {Origin} */ origin) => {
    origins[tool] ??= [];
    origins[tool].push(origin);
  };
  for (const { mcp_tool_name: tool, name } of methods) {
    if (tool) add(tool, { kind: 'method', name, href: `/methods/${encodeURIComponent(name)}` });
  }
  for (const { id, name } of scripts) {
    add(name.replace(/[^A-Za-z0-9_-]/g, '_'), { kind: 'script', name, href: `/scripts/${id}` });
  }
  return origins;
}
