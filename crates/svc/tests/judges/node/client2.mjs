// The `@modelcontextprotocol/client` package 2.x. By default it speaks protocol version 2025-11-25.
// With the argument `auto` it negotiates the version.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Change, HEADERS, judge, LIMIT_MS, URL_OF_SERVER } from './judging.mjs';

const [mode] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(URL_OF_SERVER, {
  requestInit: { headers: HEADERS },
});
const change = new Change();
const client = new Client(
  { name: 'judge', version: '1.0.0' },
  {
    ...(mode && { versionNegotiation: { mode } }),
    listChanged: {
      tools: { autoRefresh: false, debounceMs: 0, onChanged: () => change.notify() },
    },
  },
);
const options = { timeout: LIMIT_MS };

await client.connect(transport, options);
await judge({
  protocol: client.getNegotiatedProtocolVersion(),
  listTools: async () => (await client.listTools(undefined, options)).tools,
  call: (name, args) => client.callTool({ name, arguments: args }, options),
  change,
});
await client.close();
