// Checks the OpenAPI document with a linter, and generates TypeScript types from it, which must compile.
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { createConfig, lint } from '@redocly/openapi-core';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const url = new URL('/api/openapi.json', process.env.SVC_URL);
const document = await (await fetch(url)).json();

const config = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    // `/api/events/stream` and `/api/events/{id}`: an id is a UUID, so no address has two meanings.
    'no-ambiguous-paths': 'off',
    // The document names the server as `/`: clients use the server from which they read the document.
    'no-server-example.com': 'off',
    // Health checks fail with 503, not with 4xx. The link of an agent succeeds with 101, not with 2xx.
    'operation-4xx-response': 'off',
    'operation-2xx-response': 'off',
  },
});
const file = path.resolve('openapi.json');
writeFileSync(file, JSON.stringify(document, null, 1));
const problems = await lint({ ref: file, config });
for (const { ruleId, message, location } of problems) {
  console.error(`${ruleId}: ${message} at ${location.map((at) => at.pointer).join(', ')}`);
}

const types = path.resolve('openapi.ts');
const user = `
type Body = paths['/api/users']['post']['requestBody']['content']['application/json'];
type Answer = paths['/api/users']['post']['responses']['201']['content']['application/json'];
export const body: Body = { username: 'ann', password: 'correct horse battery' };
export const name = (answer: Answer): string => answer.username;
// @ts-expect-error a user needs a password
export const wrong: Body = { username: 'ann' };
`;
// A member with a default may be left out of a request.
const nodes = await openapiTS(document, { defaultNonNullable: false });
writeFileSync(types, astToString(nodes) + user);
const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022 };
const faults = ts.getPreEmitDiagnostics(ts.createProgram([types], options));
for (const fault of faults) console.error(ts.flattenDiagnosticMessageText(fault.messageText, '\n'));

const operations = Object.values(document.paths).flatMap(Object.keys).length;
console.log(`${operations} operations, ${problems.length} findings, ${faults.length} type errors`);
process.exit(problems.length + faults.length > 0 ? 1 : 0);
