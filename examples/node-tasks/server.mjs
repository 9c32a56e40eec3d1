// A method server: a task list kept in memory.
//
// It is an ordinary program. Each line on stdin is a JSON-RPC request, each line on stdout is a
// response with the same `id`. Handlers are async, so responses may come in any order. Logs go to
// stderr, never to stdout; `svc methods logs` shows them.

import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

// An error for the caller: a code, a message, and data for programs.
class MethodError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const tasks = new Map();

// Every function here is a method; its name is the `local_name` in methods.toml.
const methods = {
  add({ title } = {}) {
    // The schema documents the params; the method server must check them.
    if (typeof title !== 'string' || title === '') {
      throw new MethodError(-32602, 'a task needs a title', { field: 'title' });
    }
    const task = { id: tasks.size + 1, title, done: false };
    tasks.set(task.id, task);
    return { ...task };
  },

  finish({ id } = {}) {
    const task = tasks.get(id);
    if (!task) throw new MethodError(404, `there is no task ${id}`, { id, count: tasks.size });
    task.done = true;
    return { ...task };
  },

  list({ done } = {}) {
    return [...tasks.values()].filter((task) => done === undefined || task.done === done);
  },

  // Simulates slow work; other calls are answered in the meantime.
  async remind({ in_ms = 1000 } = {}) {
    await wait(in_ms);
    return { open: methods.list({ done: false }).length };
  },
};

// The `result` or `error` member of a response.
async function run({ method, params }) {
  try {
    if (!Object.hasOwn(methods, method)) {
      throw new MethodError(-32601, `this task list has no method \`${method}\``);
    }
    return { result: (await methods[method](params)) ?? null };
  } catch (failed) {
    if (failed instanceof MethodError) {
      return { error: { code: failed.code, message: failed.message, data: failed.data } };
    }
    console.error(`${method} failed:`, failed); // A bug in one method must not end the others.
    return { error: { code: -32603, message: 'internal error' } };
  }
}

function respond(outcome, id) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...outcome, id })}\n`);
}

async function handle(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch (failed) {
    // A line that is not JSON must not end the program.
    console.error('a line is not JSON:', failed.message);
    return respond({ error: { code: -32700, message: 'Parse error' } }, null);
  }
  if (typeof request !== 'object' || request === null || typeof request.method !== 'string') {
    return respond({ error: { code: -32600, message: 'Invalid Request' } }, request?.id ?? null);
  }
  const response = await run(request);
  // A request without an id is a notification: no response.
  if ('id' in request) respond(response, request.id);
}

console.error('the task list is open');
// End of file on stdin means stop: Node exits after the last running handler.
createInterface({ input: process.stdin, terminal: false }).on('line', handle);
