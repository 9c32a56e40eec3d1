// The `@modelcontextprotocol/sdk` package 1.x, which speaks 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Change, HEADERS, judge, LIMIT_MS, URL_OF_SERVER } from './judging.mjs';

const transport = new StreamableHTTPClientTransport(URL_OF_SERVER, {
  requestInit: { headers: HEADERS },
});
const client = new Client({ name: 'judge', version: '1.0.0' });
const change = new Change();
const options = { timeout: LIMIT_MS };

client.setNotificationHandler(ToolListChangedNotificationSchema, () => change.notify());
await client.connect(transport, options);
await judge({
  protocol: transport.protocolVersion,
  async listTools() {
    const tools = [];
    let cursor;
    do {
      const listed = await client.listTools({ cursor }, options);
      tools.push(...listed.tools);
      cursor = listed.nextCursor;
    } while (cursor !== undefined);
    return tools;
  },
  call: (name, args) => client.callTool({ name, arguments: args }, undefined, options),
  change,
});
await client.close();
