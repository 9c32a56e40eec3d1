// Fails if a line of the sources is longer than 120 characters. Biome breaks other long lines, but not strings,
// comments and template literals.
import { readdirSync, readFileSync } from 'node:fs';

const LIMIT = 120;
const SOURCES = /\.(m?js|css|html)$/;
const EXCLUDED = /(^|\/)(node_modules|app\/vendor)\//;

const files = process.argv
  .slice(2)
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`));
const tooLong = files
  .filter((file) => SOURCES.test(file) && !EXCLUDED.test(file))
  .flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line, index) => ({ file, line, number: index + 1 })),
  )
  .filter(({ line }) => [...line].length > LIMIT);
for (const { file, line, number } of tooLong) {
  console.error(`${file}:${number}: ${[...line].length} characters, at most ${LIMIT} are allowed`);
}
process.exitCode = tooLong.length > 0 ? 1 : 0;
