/** All spaces that the user may see, and a dialog to create one. */
import { plural } from '../lib/format.js';
import { can } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { useList } from '../lib/resource.js';
import { compareSpaces, spaceState } from '../lib/spaces.js';
import { loadStyles } from '../lib/styles.js';
import { navigate, useQuery, useSorting } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice, pendingOf } from '../ui/error-notice.js';
import { QuerySearch, QuerySelect } from '../ui/filters.js';
import { Pagination, Table, timeColumn } from '../ui/table.js';
import { toast } from '../ui/toasts.js';
import { AgentDialog } from './spaces/agent-command.js';
import { NewSpaceDialog } from './spaces/new-space.js';
import { HealthStatus, LinkStatus, RegistrationStatus, StateStatus } from './spaces/status.js';

/** @import { Space } from 'api' */

await loadStyles('spaces.css');

/** The value of the filter that selects failing spaces. */
const FAILING = 'failing';

export default function SpacesPage() {
  const query = useQuery();
  const list = useList('/api/spaces', 'spaces', { every: 3_000 });
  const [made, setMade] = useState(/** @type {Space | null} */ (null));
  const filters = { q: query.get('q').toLowerCase(), state: query.get('state') };
  const all = list.items ?? [];
  const rows = all
    .filter(
      (space) =>
        (!filters.state || space.state === filters.state || (filters.state === FAILING && spaceState(space).fails)) &&
        `${space.name} ${space.owner}`.toLowerCase().includes(filters.q),
    )
    .sort(compareSpaces);
  const ask = () => query.set({ new: '1' });
  const close = () => query.set({ new: null });
  const onMade = (/** @type {Space} */ space) => {
    void list.reload();
    if (!space.agent_token || space.runtime === 'local') {
      toast(`Space ${space.name} created`);
      return navigate(`/spaces/${space.id}`, { replace: true });
    }
    close();
    return setMade(space);
  };
  return html`
    <${PageHeader} title="Spaces"
      description="Where methods run: each space has an agent that keeps one method server alive."
      actions=${html`<${Button} kind="primary" icon="plus" onClick=${ask}>New space</${Button}>`} />
    ${all.length > 0 && html`<${Filters} shown=${rows.length} />`}
    ${list.data && html`<${ErrorNotice} error=${list.error} title="Not up to date" />`}
    ${
      pendingOf(list) ??
      html`
        <${Card} flush>
          ${
            rows.length === 0
              ? html`
                <${NoSpaces} any=${all.length > 0} onClear=${() => query.set({ q: null, state: null })} onNew=${ask} />
              `
              : html`<${Rows} rows=${rows} isWhole=${!list.hasMore} />`
          }
          <${Pagination} list=${list} />
        </${Card}>
      `
    }
    ${query.get('new') && html`<${NewSpaceDialog} onClose=${close} onMade=${onMade} />`}
    ${
      made &&
      html`
        <${AgentDialog} title=${`Start the agent of ${made.name}`} space=${made} token=${made.agent_token}
          onClose=${() => setMade(null)} />
      `
    }
  `;
}

/** @param {{shown: number}} props */
function Filters({ shown }) {
  return html`
    <div class="toolbar">
      <${QuerySearch} label="Search spaces" placeholder="Name or owner" />
      <${QuerySelect} label="State" name="state"
        options=${[{ value: '', label: 'Every state' }, FAILING, 'created', 'deployed', 'stopped']} />
      <span class="muted small" role="status">${plural(shown, 'space')}</span>
    </div>
  `;
}

/** @type {import('../ui/table.js').Column<Space>} */
const OWNER = { key: 'owner', label: 'Owner', mono: true, phone: 'more', phoneLabel: true, sort: true };

/** @param {{rows: Space[], isWhole: boolean}} props `isWhole`: all spaces are loaded, so the rows can be sorted */
function Rows({ rows, isWhole }) {
  const sorting = useSorting();
  /** @type {import('../ui/table.js').Column<Space>[]} */
  const columns = [
    { key: 'name', label: 'Space', mono: true, sort: true },
    {
      key: 'state',
      label: 'State',
      phone: 'aside',
      sort: (space) => spaceState(space).label,
      cell: (space) => html`<${StateStatus} space=${space} />`,
    },
    {
      key: 'health',
      label: 'Health',
      phone: 'line',
      phoneLabel: true,
      sort: true,
      cell: (space) => html`<${HealthStatus} space=${space} />`,
    },
    // On a phone, the state and the registration show whether the link works.
    {
      key: 'linked',
      label: 'Link',
      phone: 'hidden',
      sort: (space) => (space.linked ? 'linked' : 'not linked'),
      cell: (space) => html`<${LinkStatus} space=${space} />`,
    },
    {
      key: 'registration',
      label: 'Registration',
      phone: 'line-aside',
      phoneLabel: true,
      sort: ({ registration }) => `${registration.state} ${methodsOf(registration)}`,
      cell: (space) => html`<${RegistrationStatus} space=${space} />`,
    },
    ...(can('manage_spaces') ? [OWNER] : []),
    timeColumn('created_at', 'Created', { shrink: true, phone: 'hidden' }),
  ];
  return html`
    <${Table} label="Spaces" choosable="spaces" columns=${columns} rows=${rows} sorting=${isWhole ? sorting : null}
      rowHref=${(/** @type {Space} */ space) => `/spaces/${space.id}`} />
  `;
}

/** @param {Space['registration']} registration */
const methodsOf = (registration) => ('methods' in registration ? registration.methods : 0);

/** @param {{any: boolean, onClear: () => void, onNew: () => void}} props */
function NoSpaces({ any, onClear, onNew }) {
  if (any)
    return html`
      <${EmptyState} icon="search" title="No space matches"
        action=${html`<${Button} onClick=${onClear}>Clear the search</${Button}>`} />
    `;
  return html`
    <${EmptyState} icon="box" title="No spaces yet" command="svc space create lab"
      action=${html`<${Button} kind="primary" icon="plus" onClick=${onNew}>Create a space</${Button}>`}>
      A space is where your methods run. Create one, then start its agent there.
    </${EmptyState}>
  `;
}
