import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/processes.js';
import { type Answer, RowService, rowOf } from '../../support/row-service.js';
import type { Stack } from '../../support/stack.js';
import { fileIn, startWriteBackStack, stopWriteBackStack, timeEntriesCsv } from '../../support/write-back.js';

const REJECTS: Answer = { status: 422, body: '{"message":"The project is closed."}' };
const STORED: Answer = {
  status: 500,
  headers: { 'idempotent-replayed': 'true' },
  body: '{"message":"Failed."}',
};
const UNCLEAR: Answer = { status: 200, body: '{}' };

/** The write-back commands in a text, each as the words after the program's name. */
function commandsIn(text: string): string[][] {
  const found = text.matchAll(/(?:worktrack|main\.js) (write-back (?:resend|receipts) [^\n`;)]*)/g);
  return [...found].map(([, command]) => command!.split(' > ')[0]!.trim().split(/ +/));
}

describe('the command that a message of write-back names', () => {
  let stack: Stack;
  let service: RowService;
  let from = 0;
  beforeAll(async () => {
    service = await RowService.start();
    stack = await startWriteBackStack({ baseUrl: service.url });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stopWriteBackStack(stack);
    await service.stop();
  });
  beforeEach(() => {
    service.respond = () => null;
    service.records.length = 0;
    from += 1000;
  });

  /** Runs a command as it is printed; `--yes` stands for the answer on a terminal. */
  const run = (words: readonly string[]) => {
    const place = words.includes('--config')
      ? []
      : ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const more = words.includes('receipts')
      ? []
      : ['--no-read-back', ...(words.includes('resend') ? ['--yes'] : [])];
    return runCommand(stack, [...words, ...place, ...more]);
  };
  const answers = (row: number, answer: Answer) => {
    service.respond = (write) => (rowOf(write) === row ? answer : null);
  };
  const send = async (rows: number, ...more: string[]) =>
    run(['write-back', 'time-entries', await fileIn(stack, timeEntriesCsv(rows, from)), ...more]);
  const records = (row: number): number => service.records.filter((record) => rowOf(record) === row).length;
  const optionsOf = (words: readonly string[]): string =>
    words.filter((word) => /^--(?!config|task)/.test(word)).join(' ');

  it('sends or prints the rejected rows', async () => {
    answers(3, REJECTS);
    const first = await send(5);
    service.respond = () => null;
    const commands = commandsIn(first.stderr);
    expect(commands.map(optionsOf)).toEqual(['--rejected', '--rejected', '--rejected --csv']);
    const [receipts, resend, csv] = commands;
    expect((await run(receipts!)).stdout).toContain('The project is closed.');
    expect((await run(csv!)).stdout).toContain(',3,The project is closed.\n');
    expect(await run(resend!)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('written, 5 created'),
    });
    expect(records(3)).toBe(1);
  });

  it('gives a row with a stored failure a new key, and the other commands write nothing twice', async () => {
    answers(2, STORED);
    const first = await send(30);
    const [receipts, resend, reject] = commandsIn(first.stderr);
    expect([resend, reject].map((words) => optionsOf(words!))).toEqual(['--unknown', '--unknown --reject']);
    const advice = commandsIn((await run(receipts!)).stdout);
    expect(advice.map((words) => words.slice(3).join(' '))).toEqual([
      expect.stringMatching(/^--rows 2 --new-key$|^\S+ --rows 2 --new-key$/),
    ]);
    // The service repeats what it has stored.
    expect((await run(resend!)).code).toBe(1);
    expect(records(2)).toBe(0);
    service.respond = () => null;
    expect(await run(advice[0]!)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('written, 30 created'),
    });
    expect([records(2), service.records.length]).toEqual([1, 30]);
    const late = await run(reject!);
    expect([late.code, late.stderr]).toEqual([0, expect.stringContaining('is unknown. Nothing was sent.')]);
  });

  it('settles unknown rows without a request', async () => {
    answers(2, STORED);
    const [, , reject] = commandsIn((await send(30)).stderr);
    const seen = service.writes.length;
    expect(await run(reject!)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('29 created, 1 rejected'),
    });
    expect(service.writes.length).toBe(seen);
  });

  it('settles the row of another batch first', async () => {
    answers(2, UNCLEAR);
    await send(3);
    const next = await send(4, '--skip-written');
    const [receipts] = commandsIn(next.stderr);
    const [settle] = commandsIn((await run(receipts!)).stdout);
    expect(settle?.at(-1)).toBe('--unknown');
    service.respond = () => null;
    expect(await run(settle!)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('written, 3 created'),
    });
    const last = await send(4, '--skip-written');
    expect(last).toMatchObject({ code: 0, stdout: expect.stringContaining('written, 1 created, 3 skipped') });
    expect(service.records.length).toBe(4);
  });
});
