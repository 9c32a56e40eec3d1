#!/usr/bin/env node
// Runs the program `svc` of the package for this machine.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const packages = @PACKAGES@;
const name = process.platform === "linux" ? packages[process.arch] : undefined;
let program;
try {
  program = require.resolve(`${name}/bin/svc`);
} catch {
  console.error(
    name
      ? `svc: the package ${name} is missing. Install again, with optional dependencies and on a Linux with glibc.`
      : `svc: there is no package for ${process.platform} on ${process.arch}. Build svc from source instead.`,
  );
  process.exit(1);
}

const values = process.argv.slice(2);
if (typeof process.execve === "function") {
  // Recent versions of Node can replace this process by the program. Without listeners, Node prints no warning about
  // this new function.
  process.removeAllListeners("warning");
  process.execve(program, [program, ...values], process.env);
}

const child = spawn(program, values, { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes, so this process ignores it and waits for svc. Other signals are passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`svc: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
