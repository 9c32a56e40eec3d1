/** The call as code for other tools. Snippets read the token from an environment variable and contain no secret. */

import { hasExact, isExact } from '../../lib/exact.js';
import { shellQuote } from '../../lib/shell.js';

/**
 * @typedef {object} Call
 * @property {string} origin
 * @property {string} name
 * @property {any} params undefined for none
 * @property {string | null} [tool] the name of the MCP tool, if the method is one
 */

/** @param {Call} call */
function request({ name, params }) {
  return JSON.stringify(
    params === undefined ? { jsonrpc: '2.0', method: name, id: 1 } : { jsonrpc: '2.0', method: name, params, id: 1 },
  );
}

/** @param {Call} call */
export function curlOf(call) {
  return [
    `curl -sS ${shellQuote(`${call.origin}/api/methods/call`)} \\`,
    '  -H "Authorization: Bearer $SVC_TOKEN" \\',
    "  -H 'Content-Type: application/json' \\",
    `  --data-binary ${shellQuote(request(call))}`,
  ].join('\n');
}

/** The call as an MCP client sends it. @param {Call} call */
export function mcpOf({ origin, tool, params }) {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: params ?? {} } };
  return [
    `curl -sS ${shellQuote(`${origin}/mcp`)} \\`,
    '  -H "Authorization: Bearer $SVC_TOKEN" \\',
    "  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\",
    `  --data-binary ${shellQuote(JSON.stringify(call))}`,
  ].join('\n');
}

/** @param {Call} call */
export function cliOf({ name, params }) {
  return `svc method call ${shellQuote(name)} ${shellQuote(JSON.stringify(params ?? {}))}`;
}

/** @param {Call} call */
export function pythonOf({ origin, name, params }) {
  const members = [
    ['jsonrpc', '2.0'],
    ['method', name],
    ...(params === undefined ? [] : [['params', params]]),
    ['id', 1],
  ];
  return [
    'import json',
    'import os',
    'import urllib.request',
    '',
    `call = ${pythonLiteral(Object.fromEntries(members))}`,
    'request = urllib.request.Request(',
    `    ${pythonLiteral(`${origin}/api/methods/call`)},`,
    '    data=json.dumps(call).encode(),',
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["SVC_TOKEN"],',
    '        "Content-Type": "application/json",',
    '    },',
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    answer = json.load(response)',
    'if "error" in answer:',
    '    raise RuntimeError(answer["error"])',
    'print(answer["result"])',
    '',
  ].join('\n');
}

/**
 * A value as a Python literal, one member per line. JSON strings and numbers are valid Python.
 * @param {any} value
 * @param {string} [indent]
 * @returns {string}
 */
export function pythonLiteral(value, indent = '') {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (isExact(value)) return value.rawJSON;
  if (typeof value !== 'object') return JSON.stringify(value);
  const deeper = `${indent}    `;
  const list = Array.isArray(value);
  const rows = list
    ? value.map((one) => `${deeper}${pythonLiteral(one, deeper)},`)
    : Object.entries(value).map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${pythonLiteral(one, deeper)},`);
  if (rows.length === 0) return list ? '[]' : '{}';
  return [list ? '[' : '{', ...rows, `${indent}${list ? ']' : '}'}`].join('\n');
}

/** @param {Call} call */
export function typescriptOf(call) {
  return [
    `const response = await fetch(${JSON.stringify(`${call.origin}/api/methods/call`)}, {`,
    '  method: "POST",',
    '  headers: {',
    '    Authorization: `Bearer ${process.env.SVC_TOKEN}`,',
    '    "Content-Type": "application/json",',
    '  },',
    `  body: ${typescriptBody(call)},`,
    '});',
    'const answer = await response.json();',
    'if (answer.error) throw new Error(`${answer.error.code} ${answer.error.message}`);',
    'console.log(answer.result);',
    '',
  ].join('\n');
}

/** @param {Call} call */
function typescriptBody(call) {
  const text = request(call);
  // A JavaScript literal would round numbers with too many digits, and `__proto__` would not be a key.
  if (hasExact(call.params) || text.includes('"__proto__"')) return JSON.stringify(text);
  const pretty = JSON.stringify(JSON.parse(text), null, 2).replaceAll('\n', '\n  ');
  return `JSON.stringify(${pretty})`;
}
