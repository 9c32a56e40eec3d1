// The `@modelcontextprotocol/sdk` package 1.x, which speaks protocol version 2025-11-25, over HTTP or
// through the bridge `svc mcp stdio`.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { BRIDGE, Change, HEADERS, judge, LIMIT_MS, URL_OF_SERVER } from './judging.mjs';

// `holdAnswer` resolves to the whole text of the HTTP answer to the call of the tool `hold`.
let endHold;
const holdAnswer = new Promise((resolve) => (endHold = resolve));

const http = new StreamableHTTPClientTransport(URL_OF_SERVER, {
  requestInit: { headers: HEADERS },
  async fetch(url, init) {
    const response = await fetch(url, init);
    if (init.body?.includes('"hold"')) endHold(response.clone().text());
    return response;
  },
});
const transport = BRIDGE ? new StdioClientTransport(BRIDGE) : http;
let protocol;
transport.setProtocolVersion = (version) => {
  protocol = version;
  if (!BRIDGE) StreamableHTTPClientTransport.prototype.setProtocolVersion.call(http, version);
};
const client = new Client({ name: 'judge', version: '1.0.0' });
const change = new Change();
const options = { timeout: LIMIT_MS };

client.setNotificationHandler(ToolListChangedNotificationSchema, () => change.notify());
await client.connect(transport, options);
await judge({
  protocol,
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

// A cancelled call ends on the server too: its stream of progress reports ends without a result.
const abort = new AbortController();
const held = client.callTool({ name: 'hold', arguments: {} }, undefined, {
  ...options,
  signal: abort.signal,
  onprogress: () => abort.abort(),
});
await assert.rejects(held);
if (!BRIDGE) assert.doesNotMatch(await holdAnswer, /"result"/);
await client.ping(options);
await client.close();
