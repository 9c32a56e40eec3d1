// Validates an OpenRPC document against the meta-schema of OpenRPC, which refers to the meta-schema
// of JSON Schema, and checks that every reference resolves. The argument is the path of the document.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const load = (name) => {
  const module = require(name);
  return structuredClone(module.default ?? module);
};
const Ajv = require('ajv').default;

const document = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const faults = [];

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
const schemas = load('@json-schema-tools/meta-schema');
const openrpc = load('@open-rpc/meta-schema');
// Both meta-schemas name a dialect of their own, which Ajv does not know. This dialect is equal to
// draft 7.
for (const schema of [schemas, openrpc]) delete schema.$schema;
ajv.addSchema(schemas, 'https://meta.json-schema.tools');
if (!ajv.validate(openrpc, document)) {
  for (const error of ajv.errors.slice(0, 10)) faults.push(`${error.instancePath}: ${error.message}`);
}

/** Checks every member named `$ref`, in any place, because many readers of OpenRPC follow all of them. */
function follow(value, path) {
  if (value === null || typeof value !== 'object') return;
  if (typeof value.$ref === 'string' && resolve(value.$ref) === undefined) {
    faults.push(`${path}: ${value.$ref} refers to nothing`);
  }
  for (const [key, member] of Object.entries(value)) follow(member, `${path}/${key}`);
}

function resolve(reference) {
  if (!reference.startsWith('#')) return undefined;
  let at = document;
  for (const step of decodeURIComponent(reference.slice(1)).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

follow(document, '');
for (const method of document.methods) {
  const names = method.params.map((param) => param.name);
  if (new Set(names).size !== names.length) faults.push(`${method.name}: two params have one name`);
}
for (const fault of faults) console.error(fault);
console.log(`${document.methods.length} methods`);
process.exit(faults.length > 0 ? 1 : 0);
