/** One method: description, call form, recorded calls, providers. */
import { ApiError, api } from '../lib/api.js';
import { hintWords } from '../lib/hints.js';
import { can } from '../lib/me.js';
import { html } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useDocumentTitle } from '../page-host.js';
import { useQuery } from '../router.js';
import { Badge, Status, toneOf } from '../ui/badge.js';
import { Card, KeyValue, PageHeader } from '../ui/card.js';
import { ErrorNotice, Notice, pendingOf } from '../ui/error-notice.js';
import { HintBadges } from '../ui/hints.js';
import { inlineMarkdown } from '../ui/markdown.js';
import { Table } from '../ui/table.js';
import { Tabs } from '../ui/tabs.js';
import { MethodCalls } from './method/calls.js';
import { SchemaCard } from './method/schema-view.js';
import { TryIt } from './method/try-it.js';
import { inFlight } from './method/types.js';

/** @import { Method, Provider } from 'api' */

await loadStyles('methods.css');

const BACK = { href: '/methods', label: 'Methods' };

/** @param {{route: import('../routes.js').Route}} props */
export default function MethodPage({ route }) {
  const { name } = route.params;
  const query = useQuery();
  const tab = query.get('tab') === 'calls' ? 'calls' : 'try';
  const resource = useResource((signal) => findMethod(name, signal), { every: 2_000, deps: [name] });
  useDocumentTitle(resource.data?.name);
  const method = resource.data;
  if (!method) return pendingOf(resource, { page: true, back: BACK });
  const setTab = (/** @type {string} */ id) => query.set({ tab: id === 'try' ? null : id, call: null, range: null });
  const gone = resource.error?.status === 404;
  return html`
    <${PageHeader} title=${method.name} mono back=${BACK}
      description=${html`<span class="method-description">${inlineMarkdown(method.description)}</span>`}>
      <${Availability} method=${method} />
    </${PageHeader}>
    <div class="stack-large">
      ${
        gone &&
        html`
          <${Notice} tone="warn" icon="alert" title="This method is gone">
            <p>No space offers it any more, or you may not see it. This page shows the last known data.</p>
          </${Notice}>
        `
      }
      ${!gone && html`<${ErrorNotice} error=${resource.error} title="Not up to date" />`}
      ${method.journal === 'payloads' && html`<${Recorded} method=${method} />`}
      <${About} method=${method} />
      <${Tabs} label="Method" value=${tab} onChange=${setTab}
        tabs=${[{ id: 'try', label: 'Try it' }, { id: 'calls', label: 'Calls' }]}>
        <div class="stack-large" hidden=${tab !== 'try'}>
          <${TryIt} method=${method} />
          <div class="columns">
            <${SchemaCard} title="Params schema" schema=${method.params_schema}
              none="The method declares no schema of its params." />
            <${SchemaCard} title="Result schema" schema=${method.result_schema}
              none="The method declares no schema of its result." />
          </div>
          <${Providers} method=${method} />
        </div>
        ${tab === 'calls' && html`<${MethodCalls} method=${method} />`}
      </${Tabs}>
    </div>
  `;
}

/**
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<Method>}
 */
async function findMethod(name, signal) {
  // Exact, because a default or a constant may be a number that JavaScript would round.
  const { methods } = await api.get('/api/methods', { name }, { signal, exact: true });
  if (methods.length > 0) return methods[0];
  throw new ApiError({
    status: 404,
    code: 'not_found',
    detail: `There is no method \`${name}\`, or you may not see it.`,
    hint: 'A method exists while a space offers it.',
  });
}

/** @param {{method: Method}} props */
function Availability({ method }) {
  if (method.provider_count === 0) return html`<${Status} tone="bad">No provider</${Status}>`;
  return html`<${Status} tone="good">Available</${Status}>`;
}

/** Tells callers that the content of their calls is recorded. @param {{method: Method}} props */
function Recorded({ method }) {
  const { journal_redact: redacted = [] } = method;
  return html`
    <${Notice} title="The publisher records params and results of calls">
      <p>
        You and the owner of the method can read the params and results of your calls on the page “Calls”.
        ${redacted.length > 0 && html` Not recorded: <span class="mono anywhere">${redacted.join(', ')}</span>`}
      </p>
    </${Notice}>
  `;
}

/** @param {{method: Method}} props */
function About({ method }) {
  const list = (/** @type {string[] | null} */ words) =>
    html`<span class="row">${(words ?? []).map((word) => html`<${Badge} key=${word} mono>${word}</${Badge}>`)}</span>`;
  const running = inFlight(method);
  const hints = hintWords(method.annotations);
  return html`
    <${Card}>
      <${KeyValue} class="method-facts" items=${[
        ['Owner', html`<span class="mono">${method.owner}</span>`],
        [
          'Scope',
          method.scope === 'shared'
            ? html`<${Badge} tone="accent">shared</${Badge}> ${shownTo(method)}`
            : html`<${Badge}>private</${Badge}> <span class="muted">only its owner can call it</span>`,
        ],
        ['Providers', html`${method.provider_count} ready`],
        running !== null && ['In flight', String(running)],
        method.keywords.length > 0 && ['Keywords', list(method.keywords)],
        Boolean(method.title) && ['Title', method.title],
        hints.length > 0 && ['Annotations', html`<${HintBadges} words=${hints} />`],
        method.journal === 'none' && ['Journal', 'calls are not recorded'],
        method.mcp_tool && ['MCP tool', html`<span class="mono">${method.mcp_tool_name}</span>`],
        Boolean(method.local_name) && ['Local name', html`<span class="mono">${method.local_name}</span>`],
        Boolean(method.events?.length) && ['Events', list(method.events)],
        Boolean(method.event_sinks?.length) && ['Formatted by', list(method.event_sinks)],
      ]} />
    </${Card}>
  `;
}

/** @param {Method} method */
function shownTo(method) {
  if (!method.groups?.length) {
    return method.deleted_groups
      ? html`<span class="muted">with deleted groups only: no other user sees it</span>`
      : null;
  }
  const groups = method.groups.length === 1 ? 'the group' : 'the groups';
  return html`<span class="muted">with ${groups} <span class="mono">${method.groups.join(', ')}</span></span>`;
}

/** @param {{method: Method}} props */
function Providers({ method }) {
  if (!method.providers) return null;
  const mine = can('use_spaces', 'manage_spaces');
  /** @type {import('../ui/table.js').Column<Provider>[]} */
  const columns = [
    { key: 'space', label: 'Space', mono: true },
    {
      key: 'state',
      label: 'State',
      cell: (row) => html`<${Status} tone=${toneOf(row.state)}>${row.state}</${Status}>`,
    },
    { key: 'in_flight', label: 'In flight', align: 'right' },
  ];
  const none = html`
    <p class="card-note muted">
      ${
        method.provider_count > 0
          ? 'Only the owner of a method sees which spaces offer it.'
          : 'No space offers it just now.'
      }
    </p>
  `;
  return html`
    <${Card} title="Providers" flush description="Each call goes to the space with the fewest calls in flight.">
      <${Table} label="Providers" columns=${columns} rows=${method.providers}
        rowKey=${(/** @type {Provider} */ row) => row.space_id}
        rowHref=${mine ? (/** @type {Provider} */ row) => `/spaces/${row.space_id}` : undefined} empty=${none} />
    </${Card}>
  `;
}
