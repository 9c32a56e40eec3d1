// Writes api.d.ts, the types of the API, from the OpenAPI document of the server. With `--check`, fails if the file is
// not what would be written.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const DOCUMENT = new URL('../crates/svc/tests/it/http/openapi.json', import.meta.url);
const TYPES = new URL('api.d.ts', import.meta.url);
const HEADER = '// Written by `npm run types` from the OpenAPI document. Do not edit.\n\n';

const document = JSON.parse(readFileSync(DOCUMENT, 'utf8'));
for (const operation of Object.values(document.paths).flatMap(Object.values)) {
  // Without an id, the types of an operation are written in its path.
  operation.operationId = undefined;
  const responses = Object.entries(operation.responses);
  // The file has the codes of errors in place of their responses. `ApiError` is the type of all errors.
  operation.responses = Object.fromEntries(responses.filter(([, response]) => !Array.isArray(response)));
}
// Shorter without the texts and examples of operations. The texts of records stay, because editors show them.
const isText = (key, value) =>
  key.startsWith('example') || (['summary', 'description'].includes(key) && typeof value === 'string');
document.paths = JSON.parse(JSON.stringify(document.paths, (key, value) => (isText(key, value) ? undefined : value)));

// A member with a default may be left out of a request.
const nodes = await openapiTS(document, {
  defaultNonNullable: false,
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
});
const types = HEADER + astToString(nodes).replace(/^ +\w+\?: never;\n/gm, '');
if (!process.argv.includes('--check')) {
  writeFileSync(TYPES, types);
} else if (readFileSync(TYPES, 'utf8') !== types) {
  console.error('web/api.d.ts does not fit the OpenAPI document: run `npm run types`');
  process.exitCode = 1;
}
