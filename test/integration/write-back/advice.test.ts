import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** The commands in a text, each as the words after the program's name. */
function commandsIn(text: string): string[][] {
  const found = text.matchAll(
    /(?:worktrack|main\.js) ((?:write-back (?:resend|receipts)|export) [^\n`;)]*)/g,
  );
  return [...found].map(([, command]) => command!.split(' > ')[0]!.trim().split(/ +/));
}

/** Where the sources name a command in a message of write-back, as it is written there, and the test that runs it. */
const PLACES: Readonly<Record<string, string>> = {
  "src/cli/write-back/batch-lines.ts: batchCommand('resend', batchId, '--rejected')":
    'sends or prints the rejected rows',
  "src/cli/write-back/batch-lines.ts: batchCommand('receipts', batchId, '--rejected --csv > corrected.csv')":
    'sends or prints the rejected rows',
  "src/cli/write-back/batch-lines.ts: batchCommand('resend', batchId, '--unknown')":
    'gives a row with a stored failure a new key, and the other commands write nothing twice',
  "src/cli/write-back/batch-lines.ts: batchCommand('resend', batchId, '--unknown --reject')":
    'settles unknown rows without a request',
  "src/cli/write-back/receipts-command.ts: batchCommand('receipts', batchId, '--rejected')":
    'sends or prints the rejected rows',
  "src/cli/write-back/resend-command.ts: batchCommand('receipts', batchId, '--rejected --csv > corrected.csv')":
    'prints rows whose key another row has, to give them another one',
  "src/write-back/prepare-resend.ts: batchCommand('resend', this.#batchId, `--rows ${row}`)":
    'settles a row in doubt before it is corrected',
  "src/write-back/check-corrections.ts: batchCommand('receipts', first.batch, '--rejected --csv')":
    'settles a row in doubt before it is corrected',
  "src/write-back/prepare-resend.ts: batchCommand('receipts', this.#batchId, '--rejected')":
    'sends or settles a row whose other batch a user has settled',
  "src/write-back/ledger/turn.ts: batchCommand('resend', by, '--unknown')":
    'settles the row of another batch first',
  "src/write-back/ledger/turn.ts: batchCommand('resend', batchId, `--rows ${row} --again`)":
    'sends or settles a row whose other batch a user has settled',
  "src/write-back/ledger/turn.ts: batchCommand('resend', batchId, `--rows ${row} --reject`)":
    'sends or settles a row whose other batch a user has settled',
  "activities/write-back/row-request.ts: batchCommand('resend', batchId, `--rows ${row} --new-key`)":
    'gives a row with a stored failure a new key, and the other commands write nothing twice',
  "src/cli/write-back/confirm-command.ts: batchCommand('confirm', batch.batchId)":
    'looks for the written rows, and shows what was found of each',
  "src/cli/write-back/confirm-command.ts: batchCommand('receipts', batchId)":
    'looks for the written rows, and shows what was found of each',
  'src/core/warnings.ts: worktrack export --resource': 'reads the written rows once the service can be read',
  'src/write-back/check-write-back.ts: worktrack write-back': 'settles a row in doubt before it is corrected',
};

/** The places in the sources, in this form. Comments do not count. */
function placesInSources(): string[] {
  const folders = ['src/cli/write-back', 'src/write-back', 'activities/write-back', 'workflows/write-back'];
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  // Warnings of batches have their sentences there.
  return [...files, 'src/core/warnings.ts'].flatMap((file) => {
    const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^ *\/\/.*$/gm, '');
    const found =
      code.match(/batchCommand\([^)]*\)|worktrack (?:write-back|export --resource|[a-z]+-command)/g) ?? [];
    return found.map((text) => `${file}: ${text}`);
  });
}

it('is in the list of these tests, wherever the sources name one', () => {
  expect([...new Set(placesInSources())].sort()).toEqual(Object.keys(PLACES).sort());
});

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
    const isSent = words.includes('write-back') && !words.includes('receipts') && !words.includes('confirm');
    const more = [
      ...(isSent && !words.includes('--json') ? ['--no-read-back'] : []),
      ...(words.includes('resend') ? ['--yes'] : []),
    ];
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

  it('looks for the written rows, and shows what was found of each', async () => {
    const sent = await send(4, '--json');
    const { batchId } = JSON.parse(sent.stdout) as { batchId: string };
    const confirm = ['write-back', 'confirm', batchId];
    const found = await run(confirm);
    // This service lists no records.
    expect([found.code, found.stdout]).toEqual([1, expect.stringContaining('4 not seen')]);
    const [receipts] = commandsIn(found.stderr);
    expect((await run(receipts!)).stdout).toMatch(/4 not seen|notSeen|not seen/);
    expect(await run(confirm)).toMatchObject({ code: 1, stdout: found.stdout });
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

  it.each(['again', 'reject'] as const)(
    'sends or settles a row whose other batch a user has settled (--%s)',
    async (choice) => {
      answers(2, { ...UNCLEAR, writes: choice === 'reject' });
      const first = await send(3);
      const settled = await run(commandsIn(first.stderr).at(-1)!);
      expect(settled.stderr).toContain('stay in doubt: other files with the same rows do not send them');
      service.respond = () => null;
      const next = await send(4, '--skip-written');
      expect([next.code, next.stdout]).toEqual([
        1,
        expect.stringContaining('1 created, 1 unknown, 2 skipped'),
      ]);
      // What is unknown because of another batch is not advised to be sent.
      expect(next.stderr).toContain('1 row is unknown and was not sent, because another batch');
      const commands = commandsIn(next.stderr);
      expect(commands).toHaveLength(1);
      const [other, again, reject] = commandsIn((await run(commands[0]!)).stdout);
      const nothing = await run(other!);
      expect([nothing.code, nothing.stderr]).toEqual([
        0,
        expect.stringContaining('is unknown. Nothing was sent.'),
      ]);
      const batch = again![2]!;
      const announced = await run(['write-back', 'resend', batch, '--unknown']);
      expect([announced.code, announced.stderr]).toEqual([
        0,
        expect.stringMatching(
          /1 row is unknown and was not sent.*\n.*\n.*No other row .* is unknown\. Nothing was sent\./,
        ),
      ]);
      expect((await run(commandsIn(announced.stderr)[0]!)).stdout).toContain('--again');
      const [header, , row] = timeEntriesCsv(3, from).split('\n');
      const columns = '_worktrack_batch,_worktrack_row';
      const corrected = await fileIn(stack, `${header},${columns}\n${row},${batch},2\n`);
      const refused = await run(['write-back', 'time-entries', corrected]);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('row 2 is unknown (its receipt says what settles it'),
      ]);
      expect((await run(commandsIn(refused.stderr)[0]!)).stdout).toContain('--again');
      const done = await run(choice === 'again' ? again! : reject!);
      expect(done.code, done.stderr).toBe(choice === 'again' ? 0 : 1);
      expect(done.stdout).toContain(
        choice === 'again' ? '2 created, 2 skipped' : '1 created, 1 rejected, 2 skipped',
      );
      expect([records(2), service.records.length]).toEqual([1, 4]);
    },
  );

  it('keeps the receipts of rows that another batch has written', async () => {
    await send(3);
    answers(5, REJECTS);
    const next = await send(5, '--skip-written');
    service.respond = () => null;
    const [, resend] = commandsIn(next.stderr);
    const done = await run(resend!);
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('written, 2 created, 3 skipped')]);
  });

  /** Two rows have the same key. */
  const keyed = (key: string): string =>
    `ref,description,durationSeconds:integer\nA1,no. ${from},60\n${key},no. ${from + 1},120\n`;

  it('prints rows whose key another row has, to give them another one', async () => {
    const first = await run([
      ...['write-back', 'time-entries', await fileIn(stack, keyed('A1')), '--key-column', 'ref'],
    ]);
    const [, resend] = commandsIn(first.stderr);
    const again = await run(resend!);
    expect(again.stderr).toContain('1 row of batch');
    const [csv] = commandsIn(again.stderr);
    const { stdout } = await run(csv!);
    const corrected = await fileIn(stack, stdout.replace(/\bA1\b/, 'A2'));
    expect(await run(['write-back', 'time-entries', corrected])).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('written, 2 created') },
    });
    expect(service.records.length).toBe(2);
  });

  it('settles a row in doubt before it is corrected', async () => {
    answers(2, REJECTS);
    const [, resend, csv] = commandsIn((await send(3)).stderr);
    const { stdout } = await run(csv!);
    answers(2, UNCLEAR);
    await run(resend!);
    const refused = await run(['write-back', 'time-entries', await fileIn(stack, stdout)]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('row 2 is unknown')]);
    const [settle] = commandsIn(refused.stderr);
    service.respond = () => null;
    expect(await run(settle!)).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('written, 3 created') },
    });
    expect(records(2)).toBe(1);
    // A file that names no row, and one with other rows.
    const damaged = await run([
      'write-back',
      'time-entries',
      await fileIn(stack, stdout.replace(/,2,/, ',x,')),
    ]);
    const [print] = commandsIn(damaged.stderr);
    expect([damaged.code, (await run(print!)).code]).toEqual([2, 0]);
    const mixed = timeEntriesCsv(1, from + 50).split('\n');
    const [header, row] = stdout.split('\n');
    const columns = header!.split(',').length - mixed[0]!.split(',').length;
    const file = [header, `${mixed[1]}${','.repeat(columns)}`, row, ''].join('\n');
    expect((await run(['write-back', 'time-entries', await fileIn(stack, file)])).code).toBe(2);
  });

  it('reads the written rows once the service can be read', async () => {
    service.isReadable = () => false;
    const file = await fileIn(stack, timeEntriesCsv(2, from));
    const sent = await run(['write-back', 'time-entries', file, '--json']);
    service.isReadable = () => true;
    expect(sent.stderr).toContain('the written rows are not in the lake yet');
    const [read] = commandsIn(sent.stderr);
    expect(await run(read!)).toMatchObject({ code: 0 });
  });

  it('continues with another API key, if a person knows that its organization is the same', async () => {
    service.respond = (write) => (rowOf(write) === 3 ? { status: 403, body: '{"message":"Closed."}' } : null);
    const file = await fileIn(stack, timeEntriesCsv(3, from));
    expect((await run(['write-back', 'time-entries', file])).code).toBe(3);
    service.respond = () => null;
    const before = process.env.WORKTRACK_API_KEY;
    process.env.WORKTRACK_API_KEY = 'another-key';
    try {
      const stopped = await run(['write-back', 'time-entries', file]);
      expect([stopped.code, stopped.stderr]).toEqual([
        3,
        expect.stringContaining('run the same command again with --same-organization'),
      ]);
      expect(records(3)).toBe(0);
      const done = await run(['write-back', 'time-entries', file, '--same-organization']);
      expect([done.code, records(3)]).toEqual([0, 1]);
    } finally {
      process.env.WORKTRACK_API_KEY = before;
    }
  });

  it('writes a file a second time under another batch id', async () => {
    const file = await fileIn(stack, timeEntriesCsv(2, from));
    await run(['write-back', 'time-entries', file]);
    const again = await run(['write-back', 'time-entries', file, '--again']);
    expect(again.stderr).toContain('--again --batch-id NAME');
    expect(service.records.length).toBe(2);
    await run(['write-back', 'time-entries', file, '--again', '--batch-id', `second-${from}`]);
    expect(service.records.length).toBe(4);
  });
});
