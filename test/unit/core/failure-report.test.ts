import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandOf } from '../../support/failure-reporter.js';
import { lastLogs, logOf } from '../../support/last-logs.js';
import { lastPauses, notePause } from '../../support/pauses.js';
import { SEED } from '../../support/seeds.js';

describe('the report of a failed test', () => {
  const module = { moduleId: join(process.cwd(), 'test/unit/a.test.ts'), project: { name: 'unit' } } as never;
  const file = 'npx vitest run --project unit test/unit/a.test.ts';

  it.each([
    ['keeps a row', `WORKTRACK_SEED=${SEED} ${file} -t 'keeps a row'`],
    ['equals the target, seed 1234', `WORKTRACK_SEED=1234 ${file} -t 'equals the target, seed'`],
    ['is named: seed 7, a gap (in June)', `WORKTRACK_SEED=7 ${file} -t 'is named: seed'`],
    [
      "reads the service's `a+b` (twice)",
      `WORKTRACK_SEED=${SEED} ${file} -t 'reads the service.s \`a.b\` .twice.'`,
    ],
    [undefined, `WORKTRACK_SEED=${SEED} ${file}`],
  ])('names the command that repeats it: %s', (name, command) => {
    expect(commandOf(module, name)).toBe(command);
  });

  it('has the last lines of the newest processes', () => {
    for (let at = 0; at < 5; at++) {
      const noted = logOf(`process ${at}`);
      for (let line = 0; line < 30; line++) noted(`line ${line} of ${at}\n`);
    }
    const shown = lastLogs();
    expect(shown).not.toContain('process 0');
    expect(shown).toContain('-- process 4\nline 10 of 4\n');
    expect(shown.endsWith('line 29 of 4')).toBe(true);
  });

  it('says that the process stood still', () => {
    notePause(121_400, 310);
    notePause(9_000, 10);
    expect(lastPauses().split('\n').at(-1)).toMatch(
      /^-- until \S+Z, this process stood still for 121\.4 s, with 0\.3 s of CPU time$/,
    );
  });
});
