// `npm run test:long [-- <part>...]`: everything that CI does not run. CONTRIBUTING.md has the time of each part.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Files with random tests: they take their seeds or their rounds from one place. */
const random = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((name) => path.join('test', name))
  .filter((name) => /^test\/(unit|integration)\/.*\.test\.ts$/.test(name))
  .filter((name) => /support\/seeds\.js'|from 'fast-check'/.test(readFileSync(name, 'utf8')));

const PARTS = {
  rounds: ['npx', 'vitest', 'run', ...random],
  chaos: ['npm', 'run', 'test:chaos'],
  engines: ['npm', 'run', 'test:engines'],
  pictures: ['npm', 'run', 'pictures'],
  large: ['npm', 'run', 'bench:large'],
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`Unknown part: ${unknown.join(', ')}. Parts: ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
const failed = [];
for (const name of chosen.length > 0 ? chosen : Object.keys(PARTS)) {
  const [command, ...args] = PARTS[name];
  const began = Date.now();
  const { status } = spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, WORKTRACK_LONG: '1' },
  });
  if (status !== 0) failed.push(name);
  console.log(
    `${name}: ${status === 0 ? 'passed' : 'failed'} in ${Math.round((Date.now() - began) / 60_000)} minutes`,
  );
}
if (failed.length > 0) console.log(`Failed: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);
