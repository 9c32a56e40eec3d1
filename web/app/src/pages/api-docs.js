/** The HTTP API, from the server's OpenAPI document: searchable, needs no credential. */
import { plural } from '../lib/format.js';
import { html, useMemo } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { hasWords } from '../lib/search.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { pendingOf } from '../ui/error-notice.js';
import { QuerySearch } from '../ui/filters.js';
import { Operation } from './api-docs/operation.js';

await loadStyles('api-docs.css');

/** @typedef {{method: string, path: string, tag: string, operation: any, words: string}} Entry */

export default function ApiDocsPage() {
  const query = useQuery();
  const q = query.get('q');
  const resource = useResource('/api/openapi.json');
  const entries = useMemo(() => entriesOf(resource.data), [resource.data]);
  const { schemas } = /** @type {any} */ (resource.data)?.components ?? {};
  const found = entries.filter((entry) => hasWords(entry.words, q));
  const download = html`
    <${Button} href="/api/openapi.json" icon="download" download="openapi.json">OpenAPI document</${Button}>
  `;
  return html`
    <main class="api-docs">
      <${PageHeader} title="HTTP API" back=${{ href: '/', label: 'svc' }} actions=${download}
        description="Every route of this server, what it takes and what it answers." />
      ${
        pendingOf(resource) ??
        html`
          <div class="toolbar">
            <${QuerySearch} label="Search routes" placeholder="Path, summary, field or error code" />
            <span class="muted small" role="status">${plural(found.length, 'route')}</span>
          </div>
          ${
            found.length === 0 &&
            html`
              <${EmptyState} icon="search" title="No route matches"
                action=${html`<${Button} onClick=${() => query.set({ q: null })}>Clear the search</${Button}>`}>
                All words must occur in the path, summary, fields or error codes of a route.
              </${EmptyState}>
            `
          }
          ${tagsOf(found).map(
            ([tag, group]) =>
              html`
                <${Card} key=${tag} title=${tag} flush>
                  ${group.map(
                    (entry) =>
                      html`
                        <${Operation} key=${`${entry.method} ${entry.path}`} entry=${entry}
                          schemas=${schemas} />
                      `,
                  )}
                </${Card}>
              `,
          )}
        `
      }
    </main>
  `;
}

/** @param {any} document @returns {Entry[]} */
function entriesOf(document) {
  return Object.entries(document?.paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method,
      path,
      tag: operation.tags[0],
      operation,
      words: `${method} ${path} ${wordsOf(operation, document.components.schemas)}`,
    })),
  );
}

/** The texts of an operation that a search looks through. @param {any} operation @param {any} schemas */
function wordsOf(operation, schemas) {
  const { summary, description, parameters, requestBody, responses } = operation;
  const name = requestBody?.content['application/json'].schema.$ref?.split('/').pop();
  const fields = Object.keys(schemas[name]?.properties ?? {});
  const names = parameters.map((/** @type {any} */ parameter) => parameter.name);
  const outcomes = Object.values(responses).map((/** @type {any} */ response) => response.description);
  return [summary, description, ...names, ...fields, ...outcomes].join(' ');
}

/** @param {Entry[]} entries @returns {[string, Entry[]][]} */
function tagsOf(entries) {
  /** @type {Map<string, Entry[]>} */
  const tags = new Map();
  for (const entry of entries) tags.set(entry.tag, [...(tags.get(entry.tag) ?? []), entry]);
  return [...tags].sort(([a], [b]) => (a < b ? -1 : 1));
}
