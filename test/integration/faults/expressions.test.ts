import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { check, type VulnerableDiagnostics } from 'recheck';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
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
        found.set(`/${pattern}/${flags}`, { file, pattern, flags });
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

describe('the regular expressions of the source', () => {
  it(
    'take time in proportion to the length of any text, as recheck proves or finds by trying',
    async () => {
      const all = expressions();
      const slow: string[] = [];
      for (const { file, pattern, flags } of all) {
        const found = await check(pattern, flags, { timeout: TIMEOUT_MS });
        if (found.status === 'safe' || (found.status === 'vulnerable' && !isSlow(found, pattern, flags)))
          continue;
        const attack =
          found.status === 'vulnerable' ? found.attack.pattern : 'no proof in time: make it simpler';
        slow.push(`${file}: /${pattern}/${flags} (${attack.slice(0, 100)})`);
      }
      expect(all.length).toBeGreaterThan(300);
      expect(slow).toEqual([]);
    },
    15 * 60_000,
  );
});
