// The checks for every TypeScript client. A client is a set of functions, one per operation. The
// result is one line of JSON on stdout; any deviation ends the script with an error.
import assert from 'node:assert/strict';

export const URL_OF_SERVER = new URL(process.env.MCP_URL);
export const HEADERS = { Authorization: `Bearer ${process.env.MCP_TOKEN}` };
/** The command `svc mcp stdio` (the bridge), if the client connects through it. */
export const BRIDGE = process.env.MCP_STDIO && {
  command: process.env.MCP_STDIO,
  args: ['mcp', 'stdio'],
  env: { HOME: process.env.HOME, SVC_URL: URL_OF_SERVER.origin, SVC_TOKEN: process.env.MCP_TOKEN },
};
// A request that takes longer counts as hung. Long, because the machine may be busy.
export const LIMIT_MS = 120_000;

export const ARGUMENTS = { text: 'Grüße \u{1f980}', more: [1, -2] };
export const SIMPLE_TEXT = [{ type: 'text', text: 'This is a simple text response for testing.' }];

/** Waits for a notification that the list of tools has changed. The client calls `notify` when it receives one. */
export class Change {
  constructor() {
    this.seen = new Promise((resolve) => (this.notify = resolve));
  }

  async wait() {
    const late = () => assert.fail(`no tools/list_changed within ${LIMIT_MS} ms`);
    const timer = setTimeout(late, LIMIT_MS);
    await this.seen;
    clearTimeout(timer);
  }
}

export function expectEcho(result) {
  assert.ok(!result.isError);
  assert.deepEqual(result.structuredContent, ARGUMENTS);
  assert.deepEqual(JSON.parse(result.content[0].text), ARGUMENTS);
}

export function expectFailure(result) {
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /intentionally/);
}

const names = (tools) => new Set(tools.map((tool) => tool.name));

/** Judges a connected client, which calls `change.notify` at each list change. */
export async function judge({ protocol, listTools, call, change }) {
  const tools = await listTools();
  expectEcho(await call('echo', ARGUMENTS));
  assert.deepEqual((await call('test_simple_text', {})).content, SIMPLE_TEXT);
  expectFailure(await call('test_error_handling', {}));
  await assert.rejects(call('no_such_tool', {}), { code: -32602 });

  await call('test_trigger_tool_change', {});
  await change.wait();
  const [before, after] = [names(tools), names(await listTools())];
  assert.deepEqual([...before.symmetricDifference(after)], ['changing']);

  console.log(JSON.stringify({ protocol, tools, list_changed: true }));
}
