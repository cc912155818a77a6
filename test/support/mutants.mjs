// `node test/support/mutants.mjs [--count 100] [--seed 1] [--tests <commit>]`: changes one operator, constant or condition
// of a pure file at a time, and runs the ten nearest unit test files. A change that no test notices survives.
// `--tests` takes the tests of another commit, to compare two suites on the same sources. Works in a copy of the project.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { importersOfAll, nearestTests } from './nearest-tests.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    tests: { type: 'string' },
  },
});
const FOLDERS = ['src/core', 'src/lake', 'src/api', 'src/write-back'];
const NEAREST = 10;
/** What does I/O, or only describes the configuration. */
const IMPURE = /from 'node:(?!crypto|util|path|buffer)|from '(?:undici|zod|@aws-sdk|@temporalio\/(?!common))/;
const SWAPS = {
  ...{ ' === ': ' !== ', ' !== ': ' === ', ' < ': ' <= ', ' <= ': ' < ', ' > ': ' >= ', ' >= ': ' > ' },
  ...{ ' && ': ' || ', ' || ': ' && ', ' + ': ' - ', ' - ': ' + ', ' * ': ' / ', ' / ': ' * ' },
  ...{ true: 'false', false: 'true', 'if (!': 'if (', '.some(': '.every(', '.every(': '.some(' },
  ...{ 'Math.min(': 'Math.max(', 'Math.max(': 'Math.min(' },
};
/** Text that is no code, or something to change. */
const TOKEN = new RegExp(
  [
    ...[/\/\*[\s\S]*?\*\//, /\/\/.*/, /'(?:[^'\\\n]|\\.)*'/, /"(?:[^"\\\n]|\\.)*"/, /`(?:[^`\\]|\\.)*`/].map(
      ({ source }) => source,
    ),
    /(?<=[(=:,!&|?] ?)\/(?![*/ ])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//.source,
    `(?<change>\\b(?:true|false)\\b|${Object.keys(SWAPS)
      .filter((text) => !/^\w+$/.test(text))
      .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
      .join('|')}|(?<![\\w.$])\\d[\\d_]*(?![\\w.]))`,
  ].join('|'),
  'g',
);

/** Every change of one place in a file. */
function mutantsOf(file) {
  const text = readFileSync(file, 'utf8');
  if (IMPURE.test(text) || file.includes('/schema/')) return [];
  return [...text.matchAll(TOKEN)].flatMap(({ index, groups: { change } }) => {
    const line = text.slice(0, index).split('\n').length;
    const inLine = text.split('\n')[line - 1];
    // Types have no tests.
    if (change === undefined || /^\s*(?:import|export type|type|interface|readonly|\||\*)/.test(inLine))
      return [];
    const to = SWAPS[change] ?? String(Number(change.replaceAll('_', '')) + 1);
    return [
      { file, line, from: change, to, text: text.slice(0, index) + to + text.slice(index + change.length) },
    ];
  });
}

/** As test/support/random.ts. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function draw() {
  const all = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.join(folder, name)),
  )
    .sort()
    .map(mutantsOf)
    .filter((mutants) => mutants.length > 0);
  const random = randomOf(Number(values.seed));
  const pick = (from) => from[Math.floor(random() * from.length)];
  // A file first, so that large files do not get all of them.
  return Array.from({ length: Number(values.count) }, () => pick(pick(all)));
}

const mutants = draw();
const root = mkdtempSync(path.join(tmpdir(), 'worktrack-mutants-'));
try {
  for (const name of ['src', 'workflows', 'activities', 'test', 'docs', 'examples', 'README.md'])
    cpSync(name, path.join(root, name), { recursive: true });
  for (const name of ['package.json', 'tsconfig.json', 'vitest.config.ts'])
    cpSync(name, path.join(root, name));
  symlinkSync(path.resolve('node_modules'), path.join(root, 'node_modules'));
  if (values.tests !== undefined) {
    rmSync(path.join(root, 'test'), { recursive: true });
    const archive = execFileSync('git', ['archive', values.tests, 'test', 'vitest.config.ts'], {
      maxBuffer: 2 ** 30,
    });
    spawnSync('tar', ['-x', '-C', root], { input: archive });
  }
  process.chdir(root);
  const importers = importersOfAll();
  const survivors = [];
  let killed = 0;
  for (const [number, { file, line, from, to, text }] of mutants.entries()) {
    const nearest = [...nearestTests(file, importers, Infinity)]
      .sort(([, a], [, b]) => a - b)
      .slice(0, NEAREST);
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, text);
    const vitest = ['vitest', 'run', '--project', 'unit', '--bail=1', '--reporter=dot'];
    const { status } = spawnSync('npx', [...vitest, ...nearest.map(([test]) => test)], {
      env: { ...process.env, WORKTRACK_SEED: '1' },
      timeout: 600_000,
    });
    writeFileSync(file, before);
    const survives = nearest.length === 0 || status === 0;
    const shown = `${file}:${line} ${from.trim()} -> ${to.trim()} (${nearest.length} files of tests)`;
    if (survives) survivors.push(shown);
    else killed++;
    console.log(`${number + 1} ${survives ? 'SURVIVES' : 'killed'} ${shown}`);
  }
  console.log(`${killed} of ${mutants.length} killed. Survivors:\n${survivors.join('\n')}`);
} finally {
  rmSync(root, { recursive: true, force: true });
}
