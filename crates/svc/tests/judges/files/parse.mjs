// Parses the JavaScript and JSON files of a folder and runs none of them. Prints a line for each file that does not
// parse: `node --experimental-vm-modules parse.mjs FOLDER SCRIPT…`. A SCRIPT is a file that is not a module.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';

const [folder, ...scripts] = process.argv.slice(2);

function parse(path, text) {
  if (path.endsWith('.json')) {
    JSON.parse(text);
  } else if (scripts.includes(path)) {
    new vm.Script(text);
  } else if (path.endsWith('.js')) {
    new vm.SourceTextModule(text);
  }
}

for (const path of readdirSync(folder, { recursive: true }).sort()) {
  if (!/\.(js|json)$/.test(path)) {
    continue;
  }
  try {
    parse(path, readFileSync(join(folder, path), 'utf8'));
  } catch (error) {
    console.log(`${path}: ${error.message}`);
  }
}
