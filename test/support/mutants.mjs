// `node test/support/mutants.mjs [--count 100] [--seed 1] [--only <number>,...] [--long]`: changes one operator, constant or
// condition of a pure file at a time, and runs the ten nearest unit test files as `npm test` does. A change that no test notices
// survives. `--long` tries survivors again with all rows and rounds of `npm run test:long`, which contain those of `npm test`:
// so it shows what the short suite misses. Works in a copy of the project.
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { importersOfAll, nearestTests } from './nearest-tests.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    long: { type: 'boolean', default: false },
  },
});
const FOLDERS = ['core', 'lake', 'api', 'write-back', 'run', 'mirror', 'sql'].map((name) => `src/${name}`);
const NEAREST = 10;
const FIRST = 3;
/** A change can make a loop endless. */
const LONGEST_MS = { short: 300_000, long: 1_800_000 };
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
    if (
      change === undefined ||
      /^\s*(?:import|export type|export \*|type|interface|readonly|\||\*)/.test(inLine)
    )
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
  const drawn = new Set();
  // A file first, so that large files do not get all of them.
  while (drawn.size < Number(values.count)) drawn.add(pick(pick(all)));
  return [...drawn];
}

/** The nearest tests first; of several at the same distance, those whose paths share most words with that of the file. */
function nearestTo(file, importers) {
  const wordsOf = (name) => new Set(name.split(/[^a-z0-9]+/));
  const words = wordsOf(file);
  const shared = new Map();
  const tests = nearestTests(file, importers, Infinity);
  for (const test of tests.keys())
    shared.set(test, [...wordsOf(test)].filter((word) => words.has(word)).length);
  return [...tests]
    .sort(([a, near], [b, far]) => near - far || shared.get(b) - shared.get(a) || (a < b ? -1 : 1))
    .slice(0, NEAREST)
    .map(([test]) => test);
}

/** Whether `npm run test:long` plays more of a file than `npm test`. */
function isLonger(test) {
  return /support\/seeds\.js'|from 'fast-check'/.test(readFileSync(test, 'utf8'));
}

/** @returns whether all tests pass */
function pass(tests, size) {
  const args = ['run', '--project', 'unit', '--bail=1', '--maxWorkers=1', '--reporter=dot', ...tests];
  // The fresh seed is fixed as well, so that a change has the same verdict twice.
  const env = { ...process.env, WORKTRACK_FRESH_SEED: values.seed };
  delete env.WORKTRACK_LONG;
  if (size === 'long') env.WORKTRACK_LONG = '1';
  const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], {
    ...{ env, stdio: 'ignore', detached: true },
  });
  // Its workers as well, of which one may be in an endless loop.
  const end = () => process.kill(-vitest.pid, 'SIGKILL');
  const limit = setTimeout(end, LONGEST_MS[size]);
  return new Promise((resolve) => {
    vitest.once('exit', (code) => {
      clearTimeout(limit);
      resolve(code === 0);
    });
  });
}

const root = mkdtempSync(path.join(tmpdir(), 'worktrack-mutants-'));
try {
  const mutants = draw();
  const linked = ['node_modules', 'dist'];
  for (const name of readdirSync('.').filter((name) => name !== '.git' && !linked.includes(name)))
    cpSync(name, path.join(root, name), { recursive: true });
  for (const name of linked.filter(existsSync)) symlinkSync(path.resolve(name), path.join(root, name));
  process.chdir(root);
  const importers = importersOfAll();
  const chosen = values.only?.split(',').map(Number) ?? mutants.map((_, at) => at + 1);
  // A test that fails anyway would kill all of them.
  const all = new Set(chosen.flatMap((number) => nearestTo(mutants[number - 1].file, importers)));
  if (!(await pass([...all], 'short'))) throw new Error('the tests fail without a change');
  const verdicts = [];
  for (const number of chosen) {
    const { file, line, from, to, text } = mutants[number - 1];
    const tests = nearestTo(file, importers);
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, text);
    // Most changes are noticed by the nearest tests, so the others need not be loaded.
    const parts = [tests.slice(0, FIRST), tests.slice(FIRST)].filter((some) => some.length > 0);
    const survives = async (size) => {
      for (const part of parts) {
        const some = size === 'short' ? part : part.filter(isLonger);
        if (some.length > 0 && !(await pass(some, size))) return false;
      }
      return true;
    };
    let verdict = (await survives('short')) ? 'SURVIVES' : 'killed';
    if (values.long && verdict === 'SURVIVES' && !(await survives('long'))) verdict = 'KILLED BY LONG';
    writeFileSync(file, before);
    verdicts.push(verdict);
    console.log(
      `${number} ${verdict} ${file}:${line} ${from.trim()} -> ${to.trim()} (${tests.length} files of tests)`,
    );
  }
  const count = (verdict) => verdicts.filter((one) => one === verdict).length;
  console.log(
    `${count('killed')} of ${verdicts.length} killed, and ${count('KILLED BY LONG')} by the long suite only`,
  );
} finally {
  rmSync(root, { recursive: true, force: true });
}
