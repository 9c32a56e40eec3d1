// Copies the libraries that run in the browser, and their licences, from node_modules into app/vendor.
//
// The libraries import each other by bare names such as `preact`. A browser needs an import map for such names. An
// import map would be an inline script, which our content security policy forbids. So this script rewrites the names to
// relative paths.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const modules = [
  { specifier: 'preact', file: 'preact/dist/preact.mjs', as: 'preact.js' },
  { specifier: 'preact/hooks', file: 'preact/hooks/dist/hooks.mjs', as: 'hooks.js' },
  { specifier: '@preact/signals-core', file: '@preact/signals-core/dist/signals-core.mjs', as: 'signals-core.js' },
  { specifier: '@preact/signals', file: '@preact/signals/dist/signals.mjs', as: 'signals.js' },
  { specifier: 'htm', file: 'htm/dist/htm.mjs', as: 'htm.js' },
];

const from = new URL('node_modules/', import.meta.url);
const to = new URL('app/vendor/', import.meta.url);

rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
for (const { file, as } of modules) {
  writeFileSync(new URL(as, to), rewrite(readFileSync(new URL(file, from), 'utf8'), file));
}
for (const name of ['preact', '@preact/signals', '@preact/signals-core', 'htm']) {
  const { version } = JSON.parse(readFileSync(new URL(`${name}/package.json`, from), 'utf8'));
  const licence = `LICENSE.${name.replace('@preact/', '')}.txt`;
  copyFileSync(new URL(`${name}/LICENSE`, from), new URL(licence, to));
  console.log(`${name} ${version}`);
}

/** Rewrites bare names in imports to paths. Removes the reference to the source map, which is not shipped. */
function rewrite(text, file) {
  const paths = new Map(modules.map(({ specifier, as }) => [specifier, `./${as}`]));
  const rewritten = text.replace(/(from\s*|import\s*)(["'])([^"'.][^"']*)\2/g, (_, before, quote, specifier) => {
    const path = paths.get(specifier);
    if (!path) throw new Error(`${file} imports ${specifier}, which is not vendored`);
    return before + quote + path + quote;
  });
  return rewritten.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n');
}
