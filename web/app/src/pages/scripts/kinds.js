/** The kinds of scripts, their starter texts, and the position of errors. */
import { shellQuote } from '../../lib/shell.js';

/** @import { ScriptKind } from 'api' */

/**
 * An error in the source; `ran`: found by a run; `typed`: found while the user types.
 * @typedef {{line: number | null, message: string, ran?: boolean, typed?: boolean}} SourceFault
 */

/** @type {Record<ScriptKind, {label: string, about: string, starter: string, use: (name: string) => string}>} */
export const KINDS = {
  tool: {
    label: 'Tool',
    about: 'Runs on the server for a caller. It defines `main(params)`, and MCP clients see it as a tool.',
    starter:
      'def main(params):\n    name = params.get("name", "world")\n    print("greeting", name)\n' +
      '    return {"greeting": f"Hello, {name}!"}\n',
    use: (name) => `svc script run ${shellQuote(name)} '{}'`,
  },
  sink: {
    label: 'Sink',
    about: 'Runs on the server for each event of the sinks that name it, with retries.',
    starter: 'import svc.event as event\n\nprint(event.type(), event.data())\n',
    use: (name) => `svc sink create alarm --type script --patterns space.unhealthy --script ${shellQuote(name)}`,
  },
  library: {
    label: 'Library',
    about: 'Imported by other scripts under its name.',
    starter: 'def title(text):\n    return " ".join(word.capitalize() for word in text.split())\n',
    use: (name) => `import ${name}`,
  },
  startup: {
    label: 'Startup',
    about: 'Run by the agent of a space when it starts, before the methods are registered.',
    starter:
      'import os\n\nif not os.path.exists("inbox"):\n    os.mkdir("inbox")\n' +
      'print("prepared", os.getenv("SVC_SPACE_NAME"))\n',
    use: (name) => `svc space update lab --startup-script ${shellQuote(name)}`,
  },
};

export const STARTER_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', description: 'Whom to greet' } },
};

/** Suggested types of sample events. */
export const EVENT_TYPES = [
  'space.unhealthy',
  'space.healthy',
  'space.created',
  'space.started',
  'space.stopped',
  'space.deleted',
  'custom.hello',
];

/** @param {ScriptKind} kind */
export const isRunnable = (kind) => kind === 'tool' || kind === 'sink';

/**
 * The position of an error in a rejected script: the server reports `name.py:4: SyntaxError: …`.
 * @param {any} error
 * @returns {SourceFault | null} null for other errors
 */
export function faultOf(error) {
  return error?.code === 'invalid_script' ? placeOf(error.detail) : null;
}

/** @param {string} problem @returns {SourceFault} */
export function placeOf(problem) {
  const place = /^[^\n]*?\.py:(\d+): ([\s\S]*)$/.exec(problem);
  return place
    ? { line: Number(place[1]), message: `Line ${place[1]}: ${place[2]}` }
    : { line: null, message: problem };
}

/**
 * Initial params of a test, made from the schema.
 * @param {any} schema
 * @param {number} [depth]
 * @returns {any}
 */
export function sampleOf(schema, depth = 0) {
  if (!schema || typeof schema !== 'object') return depth === 0 ? {} : null;
  for (const known of [schema.default, schema.examples?.[0], schema.enum?.[0], schema.const])
    if (known !== undefined) return known;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  // Deeply nested members are left out.
  if (type === 'object' || schema.properties || depth === 0) {
    const members = depth > 4 ? [] : Object.entries(schema.properties ?? {});
    return Object.fromEntries(members.map(([name, member]) => [name, sampleOf(member, depth + 1)]));
  }
  if (type === 'array') return depth > 4 ? [] : [sampleOf(schema.items, depth + 1)];
  return (
    { string: '', integer: schema.minimum ?? 1, number: schema.minimum ?? 1, boolean: false }[
      /** @type {'string'} */ (type)
    ] ?? null
  );
}
