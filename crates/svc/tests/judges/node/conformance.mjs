// Runs the official conformance suite for one version of the protocol: `conformance.mjs <version>`.
//
// The suite sends no token. Therefore its requests go through a proxy, which adds a token and changes
// nothing else.
// Exits with 0 if exactly the checks of the baseline fail.
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const { MCP_URL, MCP_TOKEN } = process.env;
const [revision] = process.argv.slice(2);
const upstream = new URL(MCP_URL);

/** The headers with the token. All other headers are unchanged, including duplicates. */
function withToken(rawHeaders) {
  return [...rawHeaders, 'Authorization', `Bearer ${MCP_TOKEN}`];
}

const proxy = http.createServer((request, response) => {
  const { method, url, rawHeaders } = request;
  const forwarded = http.request({
    host: upstream.hostname,
    port: upstream.port,
    method,
    path: url,
    headers: withToken(rawHeaders),
    setHost: false,
    agent: false,
  });
  forwarded.on('response', (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders);
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  forwarded.on('error', () => response.destroy());
  // Forward a disconnect of the client to the server.
  response.on('close', () => forwarded.destroy());
  request.pipe(forwarded);
});

/** Prints why checks failed. The summary of the suite names only the scenarios. */
function printFailures(results) {
  for (const file of globSync('*/checks.json', { cwd: results }).sort()) {
    const scenario = path.dirname(file).replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, '');
    for (const { id, status, errorMessage } of JSON.parse(readFileSync(path.join(results, file)))) {
      if (status === 'FAILURE' || status === 'WARNING') {
        console.error(`${scenario}:${id}: ${status}: ${errorMessage ?? ''}`);
      }
    }
  }
}

proxy.listen(0, '127.0.0.1', () => {
  const { port } = proxy.address();
  const beside = (file) => fileURLToPath(new URL(file, import.meta.url));
  const results = mkdtempSync(path.join(tmpdir(), 'conformance-'));
  const suite = spawn(
    process.execPath,
    [
      beside('node_modules/@modelcontextprotocol/conformance/dist/index.js'),
      'server',
      ...['--url', `http://127.0.0.1:${port}${upstream.pathname}`],
      ...['--requirements', revision],
      ...['--expected-failures', beside(`baseline-${revision}.yml`)],
      ...['--output-dir', results],
    ],
    { stdio: ['ignore', 2, 2] },
  );
  suite.on('exit', (code) => {
    if (code !== 0) printFailures(results);
    rmSync(results, { recursive: true });
    process.exit(code ?? 1);
  });
});
