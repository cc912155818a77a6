import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import {
  type WriteBackInput,
  type WriteBackProgress,
  type WriteBackResult,
  writeBackLockId,
} from '../../../src/core/contract/write-back.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { idempotencyKey } from '../../../src/write-back/idempotency-key.js';
import { holdAnswer } from '../../support/hold.js';
import { longOnly } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { type Stack, until } from '../../support/stack.js';
import {
  cancelWriteBack,
  fileIn,
  readReceipts,
  recordsOf,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  writeBack,
} from '../../support/write-back.js';

shortenBackOffs();

type Row = readonly [ref: string, seconds: number, text?: string];
type Options = Partial<Pick<WriteBackInput, 'written' | 'unknown'>> & {
  readonly keyColumn?: string | undefined;
  readonly batchId?: string;
};

const HEADER = 'ref,durationSeconds:integer,description,startedAt\n';
const line = ([ref, seconds, text = '']: Row): string => `${ref},${seconds},${text},2026-11-20T08:00:00Z\n`;
const csv = (rows: readonly Row[]): string => HEADER + rows.map(line).join('');
const numbered = (count: number, from = 0): Row[] =>
  Array.from({ length: count }, (_, n) => [`r${from + n}`, 60 + from + n]);

describe('a row that is in two files', () => {
  let stack: Stack;
  let worker: { stop(): Promise<void> };
  beforeEach(async () => {
    stack = await startWriteBackStack();
    worker = await stack.startWorker();
  });
  afterEach(() => stopWriteBackStack(stack));

  async function write(
    text: string,
    { keyColumn, batchId, ...options }: Options = { keyColumn: 'ref' },
    extension = 'csv',
  ): Promise<WriteBackResult> {
    const file = await fileIn(stack, text, extension);
    const source = {
      resource: 'time-entries',
      file,
      ...(keyColumn === undefined ? {} : { keyColumn }),
      ...(batchId === undefined ? {} : { batchId }),
    };
    return writeBack(stack, source, { readBack: false, ...options });
  }

  async function start(text: string, batchId: string, options: Partial<WriteBackInput> = {}) {
    const source = { resource: 'time-entries', file: await fileIn(stack, text), keyColumn: 'ref', batchId };
    const input = { ...(await stage(stack, source)), readBack: false, ...options };
    return (await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue })).workflowId;
  }
  const follow = (workflowId: string) => followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
  const progressOf = (workflowId: string) =>
    stack.temporal.client.workflow.getHandle(workflowId).query<WriteBackProgress>('progress');
  /** How often the service has each key. */
  function copies(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { ref } of recordsOf(stack, 'time-entries'))
      counts[String(ref)] = (counts[String(ref)] ?? 0) + 1;
    return counts;
  }
  const once = (rows: readonly Row[]) => Object.fromEntries(rows.map(([ref]) => [ref, 1]));

  it('is not written again from a corrected file with the same key column', async () => {
    // Two chunks.
    const rows = numbered(260);
    const wrong = rows.map((row, n): Row => (n % 100 === 7 ? [row[0], -1] : row));
    const first = await write(csv(wrong));
    expect(first.counts).toMatchObject({ created: 257, rejected: 3 });
    const second = await write(csv(rows));
    expect(second).toMatchObject({ outcome: 'written', counts: { created: 3, skipped: 257 }, unsent: 0 });
    expect(copies()).toEqual(once(rows));
    const receipts = await readReceipts(stack, second.batchId);
    expect(receipts[0]).toMatchObject({ outcome: 'skipped', http_status: null });
    expect(receipts[0]!.message).toBe(`already written by batch ${first.batchId.slice(0, 12)}`);
    // In another order, format and with other line ends, too.
    const third = await write(csv([...rows].reverse()).replaceAll('\n', '\r\n'));
    expect(third.counts).toMatchObject({ created: 0, skipped: 260 });
    const json = rows.map(
      ([ref, seconds]) =>
        `{"startedAt":"2026-11-20T08:00:00Z","ref":"${ref}","durationSeconds":${seconds}}\n`,
    );
    const fourth = await write(json.join(''), { keyColumn: 'ref' }, 'ndjson');
    expect(fourth.counts).toMatchObject({ created: 0, skipped: 260 });
    expect(copies()).toEqual(once(rows));
  });

  // earlier-rows-command.test.ts: "stops at a changed row under a written key, with exit code 2 and the row".
  longOnly('stops a batch where it has changed, unless it is to be written again', async () => {
    const rows = numbered(20);
    await write(csv(rows));
    const changed = csv([...rows.slice(0, 12), ['r12', 9999], ...numbered(3, 100)]);
    const stopped = await write(changed);
    expect(stopped).toMatchObject({
      outcome: 'failed',
      error: { type: 'Configuration' },
      counts: { created: 0 },
    });
    expect(stopped.error!.message).toMatch(
      /1 of 16 rows has a key that batch [0-9a-f]{12} \(2.*Z\) wrote with other cells \(the first is row 13\)\. Nothing was sent\..*--again/,
    );
    expect(copies()).toEqual(once(rows));
    const again = await write(changed, { keyColumn: 'ref', written: 'again' });
    expect(again.counts).toMatchObject({ created: 16, skipped: 0 });
    expect(copies()).toMatchObject({ r0: 2, r12: 2, r19: 1, r100: 1 });
    // Both versions are now written.
    const both = await write(
      csv([
        ['r12', 9999],
        ['r13', 73],
      ]),
    );
    expect(both.counts).toMatchObject({ created: 0, skipped: 2 });
  });

  it('needs --again also under another batch id, and counts only for its column', async () => {
    const rows = numbered(10);
    await write(csv(rows), { keyColumn: 'ref', batchId: 'november' });
    const other = await write(csv(rows), { keyColumn: 'ref', batchId: 'december' });
    expect(other.counts).toMatchObject({ created: 0, skipped: 10 });
    const again = await write(csv(rows), { keyColumn: 'ref', batchId: 'december', written: 'again' });
    expect(again.counts).toMatchObject({ created: 10, skipped: 0 });
    // Repeated: the batch has written them.
    const repeated = await write(csv(rows), { keyColumn: 'ref', batchId: 'december', written: 'again' });
    expect(repeated).toEqual(again);
    expect(Object.values(copies())).toEqual(Array(10).fill(2));
    // Other rows, whose values in another column are the keys above.
    const text = csv(rows.map(([ref], n): Row => [`x${n}`, 60, ref]));
    const column = await write(text, { keyColumn: 'description' });
    expect(column.counts).toMatchObject({ created: 10, skipped: 0 });
  });

  it('is not sent while its outcome is unknown, and is sent once it is known', async () => {
    const rows = numbered(30);
    const LOST = ['r3', 'r9', 'r20'];
    for (const ref of LOST) {
      const match = { idempotencyKey: idempotencyKey(stack.connection, 'lossy', ref) };
      stack.simulator.admin.faults.add({ match, fault: { kind: 'lose-response' } });
    }
    const lossy = {
      resource: 'time-entries',
      file: await fileIn(stack, csv(rows)),
      keyColumn: 'ref',
      batchId: 'lossy',
    };
    const areWritten = () => recordsOf(stack, 'time-entries').length === 30;
    const cancelled = await cancelWriteBack(stack, lossy, areWritten, 'all rows are written');
    expect(cancelled.counts).toMatchObject({ created: 27, unknown: 3 });
    stack.simulator.admin.faults.clear();
    const more = csv([...rows, ['new', 1]]);
    const other = await write(more);
    expect(other).toMatchObject({ outcome: 'incomplete', counts: { created: 1, skipped: 27, unknown: 3 } });
    const unknown = (await readReceipts(stack, other.batchId)).filter(({ outcome }) => outcome === 'unknown');
    expect(unknown.map(({ key }) => key)).toEqual(LOST);
    expect(unknown[0]!.message).toContain('batch lossy may have written this row');
    // The earlier batch finds out.
    expect((await writeBack(stack, lossy)).counts).toMatchObject({ created: 30 });
    const known = await write(more);
    expect(known).toMatchObject({ outcome: 'written', counts: { created: 1, skipped: 30, unknown: 0 } });
    expect(copies()).toEqual(once([...rows, ['new', 1]]));
  });

  it('is looked up again when the turn of its batch comes', async () => {
    const rows = numbered(400);
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const first = await start(csv(rows.slice(0, 300)), 'one');
    await until(held.isThere, 'the first batch sends');
    // Three batches at the same time with the same keys.
    const others = await Promise.all(['two', 'three'].map((id) => start(csv(rows.slice(100)), id)));
    for (const id of others)
      await until(async () => (await progressOf(id)).stage === 'wait', 'it waits for its turn');
    held.release();
    const results = await Promise.all([first, ...others].map(follow));
    expect(results[0]!.counts).toMatchObject({ created: 300 });
    const created = results.map(({ counts }) => counts.created).sort((a, b) => a - b);
    expect(created).toEqual([0, 100, 300]);
    expect(results.every(({ outcome }) => outcome === 'written')).toBe(true);
    expect(copies()).toEqual(once(rows));
  });

  it('is not sent while a batch that may write it still runs without the lock', async () => {
    const rows = numbered(600);
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const first = await start(csv(rows), 'one');
    await until(held.isThere, 'the first batch sends');
    // Someone ends the lock, so the second batch gets a turn at the same time.
    await stack.temporal.client.workflow
      .getHandle(writeBackLockId(stack.connection, 'time-entries'))
      .terminate('test');
    const second = await follow(await start(csv([...rows.slice(0, 50), ['new', 1]]), 'two'));
    expect(second.outcome).toBe('incomplete');
    expect(second.counts.created).toBe(1);
    expect(second.counts.skipped + second.counts.unknown).toBe(50);
    expect(second.counts.unknown).toBeGreaterThan(0);
    held.release();
    expect((await follow(first)).counts).toMatchObject({ created: 600 });
    expect((await write(csv(rows))).counts).toMatchObject({ created: 0, skipped: 600 });
    expect(copies()).toEqual(once([...rows, ['new', 1]]));
  });

  // overlaps.test.ts terminates batches while their workers send.
  longOnly('is not missed if its batch was terminated, and its worker still sends', async () => {
    const rows = numbered(1200);
    // All requests that are sent at the same time.
    const held = holdAnswer(stack.simulator, { method: 'POST' }, 8);
    const first = await start(csv(rows), 'one');
    await until(held.isThere, 'rows are being sent');
    await stack.temporal.client.workflow.getHandle(first).terminate('test');
    const begun = await start(csv(rows), 'two');
    await until(() => recordsOf(stack, 'time-entries').length > 100, 'the second batch sends rows');
    held.release();
    const second = await follow(begun);
    // What the first batch may have sent is not sent again.
    const { created, skipped, unknown } = second.counts;
    expect(created + skipped + unknown).toBe(1200);
    expect(unknown).toBeGreaterThan(0);
    expect(created).toBeGreaterThan(0);
    // The first batch resolves what is in doubt.
    const resolved = await follow(await start(csv(rows), 'one'));
    expect(resolved).toMatchObject({ outcome: 'written', counts: { unknown: 0 } });
    const rest = await follow(await start(csv(rows), 'two'));
    expect(rest).toMatchObject({ outcome: 'written', counts: { unknown: 0 }, unsent: 0 });
    expect(copies()).toEqual(once(rows));
  });

  it('is found if everything was killed between the claim and the first request', async () => {
    const rows = numbered(40);
    stack.simulator.admin.faults.add({ match: { method: 'POST' }, fault: { kind: 'status', status: 503 } });
    const first = await start(csv(rows), 'one');
    const ledger = async () => {
      const keys: string[] = [];
      for await (const { key } of stack.store.list('_write-back/_ledger/')) keys.push(key);
      return keys;
    };
    await until(async () => (await ledger()).some((key) => key.endsWith('.claim')), 'the rows are claimed');
    await stack.temporal.client.workflow.getHandle(first).terminate('test');
    await worker.stop();
    stack.simulator.admin.faults.clear();
    await stack.startWorker();
    const second = await follow(await start(csv(rows), 'two'));
    // The claim is closed with what the logs say: a row without a log was not sent.
    expect(second.counts.created + second.counts.unknown).toBe(40);
    expect((await ledger()).filter((key) => key.endsWith('.claim'))).toEqual([]);
    await follow(await start(csv(rows), 'one'));
    await follow(await start(csv(rows), 'two'));
    expect(copies()).toEqual(once(rows));
  });

  it('keeps what is claimed if its plan and logs are gone', async () => {
    const rows = numbered(40);
    const held = holdAnswer(stack.simulator, { method: 'POST' });
    const first = await start(csv(rows), 'one');
    await until(held.isThere, 'the first batch sends');
    await stack.temporal.client.workflow.getHandle(first).terminate('test');
    held.release();
    await until(() => recordsOf(stack, 'time-entries').length > 0, 'a row is written');
    const gone: ObjectKey[] = [];
    for await (const { key } of stack.store.list('_write-back/one/_batch/')) gone.push(key);
    await stack.store.remove(gone);
    const second = await follow(await start(csv([...rows, ['new', 1]]), 'two'));
    expect(second.counts).toMatchObject({ created: 1, unknown: 40 });
  });

  // test/unit/write-back/ledger.test.ts counts equal rows; earlier-rows-command.test.ts writes rows without a key column.
  longOnly(
    'counts as a copy without a key column: one more than those that were written is new',
    async () => {
      const plain = { keyColumn: undefined };
      const rows: Row[] = [
        ['a', 60],
        ['b', 60],
        ['a', 60],
      ];
      const first = await write(csv(rows), plain);
      expect(first.counts).toMatchObject({ created: 3 });
      // The same cells: columns in another order, an empty column, other line ends, another format.
      const reordered =
        'startedAt,description,note,ref,durationSeconds:integer\r\n2026-11-20T08:00:00Z,,,b,60\r\n2026-11-20T08:00:00Z,,,a,60\r\n';
      const stopped = await write(reordered, plain);
      expect(stopped).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' } });
      expect(stopped.error!.message).toContain('2 of 2 rows were already written by batch');
      expect(stopped.error!.message).toContain('--skip-written');
      const skipped = await write(reordered, { ...plain, written: 'skip' });
      expect(skipped).toMatchObject({ outcome: 'written', counts: { created: 0, skipped: 2 } });
      const third = await write(csv([...rows, ['a', 60], ['b', 61]]), { ...plain, written: 'skip' });
      expect(third.counts).toMatchObject({ created: 2, skipped: 3 });
      const { batchId } = third;
      expect((await readReceipts(stack, batchId)).map(({ outcome }) => outcome)).toEqual([
        'skipped',
        'skipped',
        'skipped',
        'created',
        'created',
      ]);
      expect(copies()).toEqual({ a: 3, b: 2 });
      const again = await write(csv(rows), { ...plain, written: 'again', batchId: 'again' });
      expect(again.counts).toMatchObject({ created: 3 });
      expect(copies()).toEqual({ a: 5, b: 3 });
      // Rows with a key column count too.
      await write(csv([['k', 1]]));
      const keyed = await write(
        csv([
          ['k', 1],
          ['l', 1],
        ]),
        { ...plain, written: 'skip' },
      );
      expect(keyed.counts).toMatchObject({ created: 1, skipped: 1 });
      // And the other way round.
      const later = await write(
        csv([
          ['l', 1],
          ['m', 1],
        ]),
      );
      expect(later.counts).toMatchObject({ created: 1, skipped: 1 });
    },
  );

  it('does not concern upserts', async () => {
    const text = 'source,sourceKey,title\ncal,1,x\n';
    const file = await fileIn(stack, text);
    for (const batchId of ['one', 'two']) {
      const result = await writeBack(stack, { resource: 'calendar-entries', file, batchId });
      expect(result.outcome).toBe('written');
      expect(result.counts.skipped).toBe(0);
    }
  });
});
