import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readRefusals } from '../../../src/write-back/results.js';
import { runCommand } from '../../support/processes.js';
import { type Answer, RowService, type Write } from '../../support/row-service.js';
import { drawn, IS_LONG, longOnly } from '../../support/seeds.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
} from '../../support/write-back.js';

const CLOSED = JSON.stringify({ message: 'The project is closed.' });
const UNKNOWN_KEY = JSON.stringify({ message: 'Unknown key.' });

/** Rows of a batch that has many chunks. */
const ROWS = IS_LONG ? 3000 : 600;

/** The number in the description of a row. */
const numberOf = ({ body }: Pick<Write, 'body'>): number => Number(/\d+/.exec(String(body.description))![0]);

describe('rows that the service refuses', () => {
  let stack: Stack;
  let service: RowService;
  let from = 0;
  beforeAll(async () => {
    service = await RowService.start();
    stack = await startWriteBackStack({
      baseUrl: service.url,
      yaml: '    errors: { refused: [401, 402, 403, 451] }\n',
    });
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
    from += 10_000;
  });

  const batchOf = async (rows: number) => ({
    resource: 'time-entries',
    file: await fileIn(stack, timeEntriesCsv(rows, from)),
  });
  const written = (): number[] =>
    service.records.map((record) => numberOf(record) - from + 1).sort((a, b) => a - b);
  const allBut = (rows: number, ...refused: number[]): number[] =>
    Array.from({ length: rows }, (_, n) => n + 1).filter((row) => !refused.includes(row));

  it('are not sent, with the words of the service, if the file ends before it is shown that they are about the rows', async () => {
    // The first of eight in flight, in the middle, and among the last.
    const places = drawn([1, 9, 20, 32, 37, 39, 40], 2, (row) => row === 40);
    for (const [at, row] of places.entries()) {
      const status = [401, 402, 403, 451][at % 4]!;
      service.records.length = 0;
      service.respond = (write) => (numberOf(write) === from + row - 1 ? { status, body: CLOSED } : null);
      const result = await writeBack(stack, await batchOf(40));
      expect(result, `row ${row}`).toMatchObject({
        ...{ outcome: 'refused', unsent: 1, error: { type: 'Refused' } },
        counts: { created: 39, rejected: 0, unknown: 0 },
      });
      expect(written()).toEqual(allBut(40, row));
      expect((await readReceipts(stack, result.batchId)).length).toBe(39);
      const said = await readRefusals(stack.store, result.refusals!);
      expect(said).toEqual([{ status, message: 'The project is closed.', rows: 1, first: row }]);
      from += 100;
    }
  });

  it('are not rejected if the key was revoked, wherever in the file, and are sent once it is valid again', async () => {
    for (const accepted of drawn([0, 1, 20, 33, 39], 1, (rows) => rows === 20)) {
      service.records.length = 0;
      let isRevoked = accepted === 0;
      service.isReadable = () => !isRevoked;
      service.respond = () => {
        isRevoked ||= service.records.length >= accepted;
        return isRevoked ? { status: 401, body: UNKNOWN_KEY } : null;
      };
      const batch = await batchOf(40);
      const stopped = await writeBack(stack, batch);
      expect(stopped, `after ${accepted} rows`).toMatchObject({
        ...{ outcome: 'refused', error: { type: 'Refused', scope: 'key' }, unsent: 40 - accepted },
        counts: { created: accepted, rejected: 0, unknown: 0 },
      });
      expect(stopped.refusals).not.toBeNull();
      expect((await readReceipts(stack, stopped.batchId)).length).toBe(accepted);
      service.isReadable = () => true;
      service.respond = () => null;
      expect(await writeBack(stack, batch)).toMatchObject({ outcome: 'written', counts: { created: 40 } });
      expect(written()).toEqual(allBut(40));
      from += 100;
    }
  });

  it('do not stop the batch if a row after them is accepted, however many they are', async () => {
    const refused = Array.from({ length: 17 }, (_, n) => n + 20);
    service.respond = (write) =>
      refused.includes(numberOf(write) - from + 1) ? { status: 403, body: CLOSED } : null;
    const result = await writeBack(stack, await batchOf(300));
    expect(result).toMatchObject({ outcome: 'refused', counts: { created: 283, rejected: 0 }, unsent: 17 });
    expect(written()).toEqual(allBut(300, ...refused));
  });

  it('stop the batch after a few requests if the service accepts none, with its words and exit code 3', async () => {
    service.respond = () => ({ status: 403, body: CLOSED });
    const { file } = await batchOf(ROWS);
    const args = ['write-back', 'time-entries', file, '--no-read-back'];
    const ways = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const { code, stderr, stdout } = await runCommand(stack, [...args, ...ways]);
    expect(code, stderr).toBe(3);
    expect(stdout).toContain(`${ROWS.toLocaleString('en')} not sent`);
    expect(stderr).toContain('403');
    expect(stderr).toContain(': The project is closed.');
    // Eight in a row, those that were in flight, and twelve from all over the rest.
    const { concurrency } = stack.settings.connections[0]!.http;
    expect(service.writes.length).toBeLessThanOrEqual(8 + concurrency + 12);
    const tried = service.writes.map((write) => numberOf(write) - from);
    expect(tried.filter((row) => row > ROWS / 2).length).toBeGreaterThan(4);
    expect(tried.filter((row) => row > (11 / 12) * ROWS).length).toBeGreaterThan(0);
    expect(new Set(tried).size).toBe(tried.length);
    service.respond = () => null;
    const again = await runCommand(stack, [...args, ...ways, '--json']);
    expect(again.code, again.stderr).toBe(0);
    expect(written()).toEqual(allBut(ROWS));
  });

  // test/unit/activities/send-attempt.test.ts: "does not send the last rows if the key loses its grant for them".
  longOnly('are not sent at the end of the file, however many they are', async () => {
    for (const [rows, isRefused] of [
      [20, (row: number) => row > 12],
      [3, () => true],
      [1, () => true],
    ] as const) {
      service.records.length = 0;
      service.respond = (write) =>
        isRefused(numberOf(write) - from + 1) ? { status: 403, body: CLOSED } : null;
      const result = await writeBack(stack, await batchOf(rows));
      expect(result).toMatchObject({ outcome: 'refused', counts: { rejected: 0 } });
      expect(result.unsent).toBe(rows - service.records.length);
      expect(result.refusals).not.toBeNull();
      from += 100;
    }
  });

  it('are waited for if a header or their words show a limit', async () => {
    const limits: Answer[] = [
      { status: 403, headers: { 'retry-after': '1' }, body: CLOSED },
      { status: 402, headers: { 'x-ratelimit-remaining': '0' }, body: CLOSED },
      { status: 403, body: '{"message":"Rate limit exceeded."}' },
      { status: 451, body: '{"error":{"reason":"quotaExceeded"}}' },
    ];
    for (const limit of drawn(limits, 1, ({ headers }) => headers?.['retry-after'] !== undefined)) {
      service.records.length = 0;
      let left = 12;
      service.respond = (write) => (numberOf(write) - from >= 5 && left-- > 0 ? limit : null);
      const result = await writeBack(stack, await batchOf(30));
      expect(result, JSON.stringify(limit)).toMatchObject({ outcome: 'written', counts: { created: 30 } });
      expect(written()).toEqual(allBut(30));
      from += 100;
    }
  });

  // test/unit/activities/send-attempt.test.ts: "waits no longer for a limit in words if other rows are accepted after it".
  longOnly(
    'are waited for no longer if their words speak of a limit, but a row after them is accepted',
    async () => {
      const body = '{"message":"The quota of this project is used up."}';
      service.respond = (write) => (numberOf(write) === from + 6 ? { status: 403, body } : null);
      const result = await writeBack(stack, await batchOf(400));
      expect(result).toMatchObject({ outcome: 'refused', counts: { created: 399 }, unsent: 1 });
      const [said] = await readRefusals(stack.store, result.refusals!);
      expect(said).toMatchObject({ status: 403, message: 'The quota of this project is used up.', first: 7 });
    },
  );

  // test/unit/write-back/answers.test.ts has each status with such words.
  longOnly(
    'are rejected immediately if the status is about the content, whatever the words are',
    async () => {
      for (const status of [400, 409, 422]) {
        service.records.length = 0;
        const body = '{"message":"Rate limit of the week exceeded."}';
        service.respond = (write) => (numberOf(write) === from + 2 ? { status, body } : null);
        const result = await writeBack(stack, await batchOf(5));
        expect(result, String(status)).toMatchObject({ counts: { created: 4, rejected: 1 } });
        from += 100;
      }
    },
  );
});

describe('responses that do not show a record', () => {
  it('leave their rows unknown after one request, with the words of the service, and the rest is written', async () => {
    const service = await RowService.start();
    const stack = await startWriteBackStack({ baseUrl: service.url });
    try {
      await stack.startWorker();
      const body = '{"success":false,"message":"The week is locked."}';
      service.respond = (write) => (numberOf(write) % 10 === 3 ? { status: 200, body } : null);
      const { file } = { file: await fileIn(stack, timeEntriesCsv(40)) };
      const args = ['write-back', 'time-entries', file, '--no-read-back', '--json'];
      const ways = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
      const { code, stdout, stderr } = await runCommand(stack, [...args, ...ways]);
      expect(code, stderr).toBe(1);
      const { batchId, counts } = JSON.parse(stdout);
      expect(counts).toMatchObject({ created: 36, unknown: 4 });
      expect(service.writes.length).toBe(40);
      const receipts = await readReceipts(stack, batchId);
      expect(receipts[3]).toMatchObject({ outcome: 'unknown', http_status: '200' });
      expect(receipts[3]!.message).toContain('The week is locked.');
      // The next command sends them again with the same keys, and the service can now write them.
      service.respond = () => null;
      expect((await runCommand(stack, [...args, ...ways])).code).toBe(0);
      expect(service.records.length).toBe(40);
      expect(service.writes.length).toBe(44);
      expect(new Set(service.writes.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(40);
    } finally {
      await stopWriteBackStack(stack);
      await service.stop();
    }
  });
});
