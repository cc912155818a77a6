import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand, startOnTerminal } from '../../support/processes.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writesSeen,
} from '../../support/write-back.js';

describe('`worktrack write-back` of rows that an earlier batch has written', () => {
  let stack: Stack;
  const write = (...args: string[]) => [
    'write-back',
    'time-entries',
    ...args,
    '--no-read-back',
    '--config',
    stack.configFile,
    '--task-queue',
    stack.taskQueue,
  ];
  const run = (...args: string[]) => runCommand(stack, write(...args));
  const keyed = (count: number, from = 0): string => {
    const lines = Array.from({ length: count }, (_, n) => `k${from + n},${60 + n},2026-11-20T08:00:00Z\n`);
    return `ref,durationSeconds:integer,startedAt\n${lines.join('')}`;
  };

  beforeAll(async () => {
    stack = await startWriteBackStack();
    await stack.startWorker();
  });
  afterAll(() => stopWriteBackStack(stack));

  it('says before it sends how many keys were written, and skips them', async () => {
    const wrong = keyed(50).replaceAll(',63,', ',-1,');
    const first = await run(await fileIn(stack, wrong), '--key-column', 'ref', '--json');
    expect(JSON.parse(first.stdout)).toMatchObject({ counts: { created: 49, rejected: 1 } });
    const file = await fileIn(stack, keyed(50));
    const planned = await run(file, '--key-column', 'ref', '--dry-run');
    expect(planned.stdout).toContain('50 rows, 1 to send, 49 skipped. Nothing was sent.');
    const { code, stdout, stderr } = await run(file, '--key-column', 'ref', '--json');
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(
      /49 of 50 keys were already written by batch [0-9a-f]{12} \(\d+ (?:s|min) ago\); they are skipped\n/,
    );
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'written', counts: { created: 1, skipped: 49 } });
    // The same command again reports the same.
    const seen = writesSeen(stack);
    const again = await run(file, '--key-column', 'ref', '--json');
    expect([again.code, again.stdout]).toEqual([0, stdout]);
    expect(writesSeen(stack)).toBe(seen);
    // The same batch with --again sends the rows that it has skipped.
    const all = await run(file, '--key-column', 'ref', '--again', '--json');
    expect(all.stderr).toContain('they are written again');
    expect(JSON.parse(all.stdout)).toMatchObject({ counts: { created: 50, skipped: 0 } });
    expect(writesSeen(stack)).toBe(seen + 49);
  });

  it('stops at a changed row under a written key, with exit code 2 and the row', async () => {
    const rows = keyed(30, 1000);
    expect((await run(await fileIn(stack, rows), '--key-column', 'ref')).code).toBe(0);
    const seen = writesSeen(stack);
    const changed = await fileIn(stack, rows.replace(',64,', ',6400,').replace(',70,', ',7000,'));
    const { code, stderr, stdout } = await run(changed, '--key-column', 'ref', '--json');
    expect([code, stdout], stderr).toEqual([2, '']);
    expect(stderr).toMatch(
      /2 of 30 rows have keys that batch [0-9a-f]{12} \(\d+ (?:s|min) ago\) wrote with other cells \(the first is row 5\)/,
    );
    expect(stderr).toContain('--again');
    expect(stderr).not.toContain('k1004');
    const other = await run(changed, '--key-column', 'ref', '--batch-id', 'other');
    expect(other.code).toBe(2);
    expect(writesSeen(stack)).toBe(seen);
    const again = await run(changed, '--key-column', 'ref', '--again');
    expect(again.code, again.stderr).toBe(0);
    expect(writesSeen(stack)).toBe(seen + 30);
  });

  it('needs an option in a script if rows without a key column were written', async () => {
    const records = () => recordsOf(stack, 'time-entries').length;
    expect((await run(await fileIn(stack, timeEntriesCsv(10, 2000)))).code).toBe(0);
    const before = records();
    const longer = await fileIn(stack, timeEntriesCsv(12, 2000).replaceAll('\n', '\r\n'));
    for (const args of [[longer], [longer, '--batch-id', 'named'], [longer, '--json']]) {
      const { code, stderr } = await run(...args);
      expect(code, stderr).toBe(2);
      expect(stderr).toMatch(
        /10 of 12 rows were already written by batch [0-9a-f]{12} \(\d+ (?:s|min) ago\)/,
      );
      expect(stderr).toContain('Use --skip-written to send only the other rows, or --again');
    }
    expect(records()).toBe(before);
    const both = await run(longer, '--again', '--skip-written');
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('exclude each other')]);
    const skipped = await run(longer, '--skip-written', '--json');
    expect(skipped.code, skipped.stderr).toBe(0);
    expect(skipped.stderr).toContain('10 of 12 rows were already written');
    expect(JSON.parse(skipped.stdout)).toMatchObject({ counts: { created: 2, skipped: 10 } });
    expect(records()).toBe(before + 2);
    const again = await run(
      await fileIn(stack, timeEntriesCsv(10, 2000).replaceAll('\n', '\r\n')),
      '--again',
    );
    expect(again.code, again.stderr).toBe(0);
    expect(records()).toBe(before + 12);
  });

  it('asks on a terminal', async () => {
    const records = () => recordsOf(stack, 'time-entries').length;
    expect((await run(await fileIn(stack, timeEntriesCsv(5, 3000)))).code).toBe(0);
    const before = records();
    const file = await fileIn(stack, timeEntriesCsv(7, 3000));
    async function answer(text: string): Promise<string> {
      const command = startOnTerminal(stack, write(file));
      const shown = async () => (await command.output()).stdout;
      await until(async () => (await shown()).includes('to write these rows again'), 'it asks');
      expect(await shown()).toMatch(/5 of 7 rows were already written by batch/);
      command.child.stdin!.write(text);
      await command.exited;
      return shown();
    }
    // Ctrl-C.
    expect(await answer('\x03')).toContain('Nothing was sent.');
    expect(records()).toBe(before);
    expect(await answer('skip\r')).toContain('2 created, 5 skipped');
    expect(records()).toBe(before + 2);
  });

  it('warns of equal rows in one file', async () => {
    const [header, row] = timeEntriesCsv(1, 4000).split('\n');
    const equal = await run(await fileIn(stack, `${header}\n${row}\n${row}\n${row}\n`));
    expect(equal.code, equal.stderr).toBe(0);
    expect(equal.stderr).toContain(
      'warning: 2 rows of the file equal an earlier row of it (the first is row 2). Each of them is written.',
    );
    expect(equal.stdout).toContain('3 created');
    const [head, one] = keyed(1, 5000).split('\n');
    const keys = await run(await fileIn(stack, `${head}\n${one}\n${one}\n`), '--key-column', 'ref');
    expect(keys.stderr).toContain(
      'warning: 1 row of the file has the key of an earlier row of it (the first is row 2), and is not sent.',
    );
    expect(keys.stdout).toContain('1 created, 1 skipped');
  });
});
