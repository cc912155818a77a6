import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { check, type VulnerableDiagnostics } from 'recheck';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { IS_LONG } from '../../support/seeds.js';

const ROOT = resolve(import.meta.dirname, '../../..');
/**
 * Expressions that have passed, each as it is written, so that `npm test` only tries new ones: all together take minutes. Made by
 * `npm run test:long`, which tries all.
 */
const PASSED_FILE = join(import.meta.dirname, 'passed-expressions.json');
/** For one expression, on a busy machine. */
const TIMEOUT_MS = 60_000;

interface Expression {
  readonly file: string;
  readonly pattern: string;
  readonly flags: string;
}

/** All regular expressions that are written as such in the source. */
function expressions(): Expression[] {
  const found = new Map<string, Expression>();
  for (const folder of ['src', 'activities', 'workflows'])
    for (const path of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, path);
      // The simulated service reads only what tests and demos send.
      if (!file.endsWith('.ts') || file.startsWith('src/simulator')) continue;
      for (const { pattern, flags } of literals(
        parseAst(readFileSync(join(ROOT, file), 'utf8'), { lang: 'ts' }),
      ))
        found.set(nameOf({ file, pattern, flags }), { file, pattern, flags });
    }
  return [...found.values()];
}

function* literals(node: unknown): Generator<{ pattern: string; flags: string }> {
  if (typeof node !== 'object' || node === null) return;
  const { type, regex } = node as { type?: unknown; regex?: { pattern: string; flags: string } };
  if (type === 'Literal' && regex !== undefined) yield regex;
  for (const inner of Object.values(node)) yield* literals(inner);
}

/** CPU time for an attack. One that recheck means takes seconds, ms. */
const SLOW_MS = 200;

/** Whether an attack takes long here, too. recheck stops the time of a process, so a busy machine makes harmless ones look slow. */
function isSlow({ complexity, attack }: VulnerableDiagnostics, pattern: string, flags: string): boolean {
  if (complexity.type !== 'polynomial') return true;
  const expression = new RegExp(pattern, flags);
  const before = process.cpuUsage();
  expression.test(attack.string);
  return process.cpuUsage(before).user / 1_000 > SLOW_MS;
}

/** What is wrong with an expression; null if it takes time in proportion to the length of any text. */
async function problemOf({ file, pattern, flags }: Expression): Promise<string | null> {
  const found = await check(pattern, flags, { timeout: TIMEOUT_MS });
  if (found.status === 'safe' || (found.status === 'vulnerable' && !isSlow(found, pattern, flags)))
    return null;
  const attack = found.status === 'vulnerable' ? found.attack.pattern : 'no proof in time: make it simpler';
  return `${file}: /${pattern}/${flags} (${attack.slice(0, 100)})`;
}

const nameOf = ({ pattern, flags }: Expression): string => `/${pattern}/${flags}`;

describe('the regular expressions of the source', () => {
  it(
    'take time in proportion to the length of any text, as recheck proves or finds by trying',
    async () => {
      const all = expressions();
      expect(all.length).toBeGreaterThan(300);
      const passed = new Set(IS_LONG ? [] : (JSON.parse(readFileSync(PASSED_FILE, 'utf8')) as string[]));
      const problems: string[] = [];
      for (const one of all.filter((each) => !passed.has(nameOf(each)))) {
        const problem = await problemOf(one);
        if (problem !== null) problems.push(problem);
      }
      expect(problems).toEqual([]);
      if (IS_LONG) writeFileSync(PASSED_FILE, `${JSON.stringify(all.map(nameOf).sort(), null, 2)}\n`);
    },
    15 * 60_000,
  );

  it('are slow if one has a nested repetition, which the same check finds', async () => {
    expect(await problemOf({ file: 'file.ts', pattern: '^(a+)+$', flags: '' })).toContain(
      'file.ts: /^(a+)+$/',
    );
  });
});
