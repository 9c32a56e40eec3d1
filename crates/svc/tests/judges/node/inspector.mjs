// Runs the command line of the MCP inspector, and lists the tools with `--strict`: `node inspector.mjs <era>`. The
// inspector also checks whether the schemas of the tools are portable. It reads no notifications.
//
// Its findings about tools of other users, `user_*`, are ignored: users may write schemas that are not portable.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ARGUMENTS, expectEcho, expectFailure, HEADERS, LIMIT_MS, SIMPLE_TEXT } from './judging.mjs';

const [era] = process.argv.slice(2);
const launcher = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
);

/** Runs the inspector and returns exit code and output. */
function run(...args) {
  const all = [
    ...[launcher, '--cli', process.env.MCP_URL, '--transport', 'http'],
    ...['--header', `Authorization: ${HEADERS.Authorization}`],
    ...['--protocol-era', era, '--format', 'json', ...args],
  ];
  const options = { timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(process.execPath, all, options, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

async function call(name, args) {
  const method = ['--method', 'tools/call', '--tool-name', name];
  const { stdout, stderr } = await run(...method, '--tool-args-json', JSON.stringify(args));
  assert.ok(stdout, stderr);
  return JSON.parse(stdout).result;
}

const listed = await run('--method', 'tools/list', '--strict');
assert.ok(listed.stdout, listed.stderr);
const { tools } = JSON.parse(listed.stdout).result;
const blamed = [...listed.stderr.matchAll(/^Error: tool "(.*)"$/gm)].map(([, name]) => name);
assert.equal(listed.code, blamed.length > 0 ? 6 : 0, listed.stderr);
assert.deepEqual(
  blamed.filter((name) => !name.startsWith('user_')),
  [],
  listed.stderr,
);
expectEcho(await call('echo', ARGUMENTS));
assert.deepEqual((await call('test_simple_text', {})).content, SIMPLE_TEXT);
expectFailure(await call('test_error_handling', {}));
console.log(JSON.stringify({ protocol: era, tools, list_changed: false }));
