/** MCP: the endpoint, the configuration of clients, and the tools that clients see. */
import { html, useState } from '../lib/preact.js';
import { useResource } from '../lib/resource.js';
import { loadStyles } from '../lib/styles.js';
import { useQuery } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { CodeBlock } from '../ui/code-block.js';
import { Checkbox, TextInput } from '../ui/field.js';
import { nameProblem } from './mcp/clients.js';
import { ConnectCard } from './mcp/connect.js';
import { ConnectedCard } from './mcp/connected.js';
import { ToolsCard } from './mcp/tools.js';

await loadStyles('mcp.css');

export default function McpPage() {
  const query = useQuery();
  const [name, setName] = useState('svc');
  const search = query.get('mode') === 'search';
  const url = `${location.origin}/mcp${search ? '?tools=search' : ''}`;
  const refused = nameProblem(name);
  const discovery = useResource(findOauth);
  // Before the answer arrives, assume that the server accepts logins, as most servers do.
  const oauth = discovery.data ?? true;
  return html`
    <${PageHeader} title="MCP"
      description="Your methods and tool scripts as tools of any agent that speaks the Model Context Protocol."
      actions=${html`<${Button} icon="exchange" href="/calls?via=mcp">Calls by clients</${Button}>`} />
    <div class="stack-large">
      <${Card} title="Endpoint"
        description=${
          oauth
            ? 'Streamable HTTP. Clients with OAuth need only this address.'
            : 'Streamable HTTP, with a token in the Authorization header. OAuth is off on this server.'
        }>
        <div class="mcp-endpoint">
          <${CodeBlock} text=${url} label="endpoint address" wrap />
          <${TextInput} label="Name in the client" value=${name} onInput=${setName} error=${refused} mono
            autocomplete="off" hint="Many clients prefix each tool's name with it: keep it short." />
          <${Checkbox} label="Search mode" checked=${search}
            onChange=${(/** @type {boolean} */ on) => query.set({ mode: on ? 'search' : null })}
            hint="Only two tools, one to search and one to run the others. Useful for hundreds of tools." />
        </div>
      </${Card}>
      <${ConnectCard} name=${refused ? 'svc' : name} url=${url} search=${search} oauth=${oauth} />
      <${ConnectedCard} />
      <${ToolsCard} />
    </div>
  `;
}

/** Whether the server accepts logins of apps. @param {AbortSignal} signal */
async function findOauth(signal) {
  const answer = await fetch('/.well-known/oauth-protected-resource/mcp', { signal });
  return answer.ok;
}
