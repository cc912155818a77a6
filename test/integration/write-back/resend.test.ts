import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { idempotencyKey } from '../../../src/write-back/idempotency-key.js';
import { runCommand } from '../../support/processes.js';
import { RowService, rowOf, type Write } from '../../support/row-service.js';
import { longOnly } from '../../support/seeds.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
} from '../../support/write-back.js';

const NO_PROJECT = JSON.stringify({ message: 'The project does not exist.' });

describe('`worktrack write-back resend`', () => {
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
    service.writes.length = 0;
    from += 1000;
  });

  const resend = (...args: string[]) =>
    runCommand(stack, [
      ...['write-back', 'resend', ...args, '--no-read-back'],
      ...['--config', stack.configFile, '--task-queue', stack.taskQueue],
    ]);
  const send = (file: string) =>
    runCommand(stack, [
      ...['write-back', 'time-entries', file, '--no-read-back', '--json'],
      ...['--config', stack.configFile, '--task-queue', stack.taskQueue],
    ]);
  /** A batch whose rows get other responses. */
  async function batchWith(rows: number, answer: (row: number) => ReturnType<RowService['respond']>) {
    service.respond = (write) => answer(rowOf(write));
    const file = await fileIn(stack, timeEntriesCsv(rows, from));
    const result = await writeBack(stack, { resource: 'time-entries', file });
    service.respond = () => null;
    return { ...result, file };
  }
  const records = (row: number): number => service.records.filter((record) => rowOf(record) === row).length;
  const rejects =
    (...rows: number[]) =>
    (row: number) =>
      rows.includes(row) ? { status: 422, body: NO_PROJECT } : null;

  it('sends rejected rows with the same keys once their cause is gone, and nothing else', async () => {
    const batch = await batchWith(12, rejects(3, 7));
    expect(batch).toMatchObject({ outcome: 'incomplete', counts: { created: 10, rejected: 2 } });
    const seen = service.writes.length;
    const { code, stdout, stderr } = await resend(
      batch.batchId.slice(0, 12),
      '--rejected',
      '--yes',
      '--json',
    );
    expect(stderr).toContain('2 rows of batch');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'written', counts: { created: 12, rejected: 0 } });
    expect(service.writes.slice(seen).map(rowOf).sort()).toEqual([3, 7]);
    const keyOf = (row: number) =>
      service.writes.filter((one) => rowOf(one) === row).map((one) => one.idempotencyKey);
    expect(new Set(keyOf(3)).size).toBe(1);
    expect([records(3), records(7), service.records.length]).toEqual([1, 1, 12]);
  });

  it('asks first: without a terminal and --yes, it sends nothing', async () => {
    const batch = await batchWith(3, rejects(2));
    const seen = service.writes.length;
    const asked = await resend(batch.batchId, '--rejected');
    expect([asked.code, service.writes.length]).toEqual([2, seen]);
    expect(asked.stderr).toContain('1 row of batch');
    expect(asked.stderr).toContain('--yes');
  });

  it('refuses rows that are written, and rows that do not exist', async () => {
    const batch = await batchWith(3, rejects(2));
    const seen = service.writes.length;
    const refused = await resend(batch.batchId, '--rows', '1-2,9', '--yes');
    expect([refused.code, service.writes.length]).toEqual([2, seen]);
    expect(refused.stderr).toMatch(/row 1 is written \(id r\d+\); row 9 does not exist: the input has 3/);
  });

  // advice.test.ts sends a row with a new key; test/unit/write-back/resend.test.ts: "gives a key its next number only …".
  longOnly(
    'gives a row a new key only on request, the same one until it has an answer, and then the next',
    async () => {
      const stored = {
        status: 500,
        headers: { 'idempotent-replayed': 'true' },
        body: '{"message":"Failed."}',
      };
      const batch = await batchWith(30, (row) => (row === 5 ? stored : null));
      expect(batch.counts).toMatchObject({ created: 29, unknown: 1 });
      const key = (n?: number): string => {
        const { key: rowKey } = receipt!;
        return idempotencyKey(stack.connection, batch.batchId, rowKey, 'uuid-v5', n === undefined ? [] : [n]);
      };
      const receipt = (await readReceipts(stack, batch.batchId)).find(({ row }) => row === '5');
      const sent = (): (string | null)[] => [
        ...new Set(service.writes.filter((one) => rowOf(one) === 5).map((one) => one.idempotencyKey)),
      ];
      expect(sent()).toEqual([key()]);
      const careless = await resend(batch.batchId, '--unknown', '--new-key', '--yes');
      expect([careless.code, sent().length]).toEqual([2, 1]);
      // A new key that gets the same stored failure has an answer, so the next order takes the next key.
      service.respond = (write) => (rowOf(write) === 5 ? stored : null);
      const first = await resend(batch.batchId, '--rows', '5', '--new-key', '--yes');
      expect(first.code).toBe(1);
      expect(sent()).toEqual([key(), key(1)]);
      service.respond = () => null;
      const looked = ['--unknown', '--new-key', '--yes-i-looked'];
      const second = await resend(batch.batchId, ...looked, '--yes');
      expect(second.code, second.stderr).toBe(0);
      expect(sent()).toEqual([key(), key(1), key(2)]);
      expect(service.records.length).toBe(30);
    },
  );

  // advice.test.ts: "settles unknown rows without a request"; test/unit/write-back/resend.test.ts has the rows of later orders.
  longOnly('settles rows for good, which are not sent with the next order', async () => {
    const batch = await batchWith(4, rejects(2, 3));
    const seen = service.writes.length;
    const settled = await resend(batch.batchId, '--rows', '2', '--reject', '--yes');
    expect([settled.code, service.writes.length]).toEqual([1, seen]);
    expect((await readReceipts(stack, batch.batchId))[1]!.message).toContain('settled by hand');
    const next = await resend(batch.batchId, '--rejected', '--yes', '--json');
    expect(JSON.parse(next.stdout)).toMatchObject({ counts: { created: 3, rejected: 1 } });
    expect([records(2), records(3)]).toEqual([0, 1]);
  });

  it('replaces rejected rows by corrected ones, and refuses rows that are written or replaced twice', async () => {
    const wrong = [...timeEntriesCsv(12, from).split('\n')];
    wrong[3] = `no. ${from + 2},"7,5",2026-11-20T08:00:00Z,true`;
    service.respond = (write) =>
      write.body.durationSeconds === '7,5' ? { status: 422, body: NO_PROJECT } : null;
    const file = await fileIn(stack, wrong.join('\n').replace(':integer', ':string'));
    const first = await send(file);
    expect(first.code).toBe(1);
    const { batchId } = JSON.parse(first.stdout) as { batchId: string };
    const receipts = () =>
      runCommand(stack, [
        'write-back',
        'receipts',
        batchId,
        '--rejected',
        '--csv',
        '--config',
        stack.configFile,
      ]);
    const { stdout: rows } = await receipts();
    expect(rows.split('\n')).toEqual([
      'description,durationSeconds:string,startedAt,billable:boolean,_worktrack_batch,_worktrack_row,_worktrack_message',
      `no. ${from + 2},"7,5",2026-11-20T08:00:00Z,true,${batchId.slice(0, 12)},3,The project does not exist.`,
      '',
    ]);
    const corrected = await send(await fileIn(stack, rows.replace('"7,5"', '450')));
    expect(corrected.stderr).toContain('1 row to replace in batch');
    expect(JSON.parse(corrected.stdout)).toMatchObject({
      batchId,
      outcome: 'written',
      counts: { created: 12 },
    });
    expect([service.records.length, records(3)]).toEqual([12, 1]);
    expect(service.records.find((record) => rowOf(record) === 3)?.body.durationSeconds).toBe('450');
    // The key of the rejected content is not used for another content.
    const keys = service.writes.filter((one) => rowOf(one) === 3).map((one) => one.idempotencyKey);
    expect(new Set(keys).size).toBe(keys.length);
    const seen = service.writes.length;
    const again = await send(await fileIn(stack, rows.replace('"7,5"', '451')));
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/row 3 is written \(id r\d+\)/)]);
    const twice = await send(await fileIn(stack, `${rows}${rows.split('\n')[1]}\n`));
    expect([twice.code, twice.stderr]).toEqual([
      2,
      expect.stringContaining('lines 2 and 3 replace the same row 3'),
    ]);
    // The command of the file has nothing to do, and the corrected row stays written.
    const last = await send(file);
    expect([last.code, JSON.parse(last.stdout).counts]).toEqual([
      0,
      expect.objectContaining({ created: 12 }),
    ]);
    expect([service.writes.length, (await receipts()).stdout]).toEqual([seen, '']);
  });

  it('corrects rows as often as necessary, and sends JSON rows as they are', async () => {
    const row = (n: number) =>
      JSON.stringify({ description: `no. ${from + n - 1}`, durationSeconds: 60 + n, tags: [n, '\u00e4'] });
    const file = await fileIn(stack, `${[1, 2, 3, 4].map(row).join('\n')}\n`, 'ndjson');
    const isWrong = (write: Write) => rowOf(write) === 2 && write.body.durationSeconds !== 7;
    service.respond = (write) => (isWrong(write) ? { status: 422, body: NO_PROJECT } : null);
    const first = await send(file);
    const { batchId } = JSON.parse(first.stdout) as { batchId: string };
    for (const [before, after] of [
      [62, 63],
      [63, 7],
    ]) {
      const { stdout } = await runCommand(stack, [
        'write-back',
        'receipts',
        batchId,
        '--rejected',
        '--csv',
        '--config',
        stack.configFile,
      ]);
      const found = JSON.parse(stdout) as Record<string, unknown>;
      expect(found).toEqual({
        ...{ description: `no. ${from + 1}`, durationSeconds: before, tags: [2, '\u00e4'] },
        ...{
          _worktrack_batch: batchId.slice(0, 12),
          _worktrack_row: 2,
          _worktrack_message: 'The project does not exist.',
        },
      });
      const next = await send(
        await fileIn(stack, JSON.stringify({ ...found, durationSeconds: after }), 'ndjson'),
      );
      expect(next.code, next.stderr).toBe(after === 7 ? 0 : 1);
    }
    expect(service.records.length).toBe(4);
    expect(Object.keys(service.records.find((one) => rowOf(one) === 2)!.body)).toEqual([
      'description',
      'durationSeconds',
      'tags',
    ]);
  });

  it('leaves rows as they were if the service cannot be asked, and the command of the file continues', async () => {
    const batch = await batchWith(6, rejects(2, 3));
    service.respond = () => ({ status: 401, body: '{"message":"Unknown key."}' });
    service.isReadable = () => false;
    const refused = await resend(batch.batchId, '--rejected', '--yes', '--json');
    service.isReadable = () => true;
    service.respond = () => null;
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.stdout)).toMatchObject({ counts: { created: 4, rejected: 2, notSent: 0 } });
    const again = await writeBack(stack, { resource: 'time-entries', file: batch.file });
    expect(again.counts).toMatchObject({ created: 4, rejected: 2 });
    const sent = await resend(batch.batchId, '--rejected', '--yes', '--json');
    expect(JSON.parse(sent.stdout)).toMatchObject({ outcome: 'written', counts: { created: 6 } });
    expect(service.records.length).toBe(6);
  });
});
