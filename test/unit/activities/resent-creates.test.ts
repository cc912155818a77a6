import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  ResendOrder,
  UnknownPolicy,
  WriteBackInput,
  WrittenResults,
} from '../../../src/core/contract/write-back.js';
import { checkCorrections } from '../../../src/write-back/check-corrections.js';
import { idempotencyKey } from '../../../src/write-back/idempotency-key.js';
import { prepareResend } from '../../../src/write-back/prepare-resend.js';
import { type Receipt, readReceipts } from '../../../src/write-back/results.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { shortenBackOffs } from '../../support/short-waits.js';

const RESOURCE = 'time-entries';
const POST = { method: 'POST', resource: RESOURCE } as const;
/** Leaves a row unknown after one request. */
const UNCLEAR = { kind: 'status', status: 200, body: '{}' } as const;
const REJECTS = { kind: 'status', status: 422, body: '{"message":"The week is locked."}' } as const;

type How = Partial<Pick<WriteBackInput, 'written'>> & {
  readonly unknown?: UnknownPolicy;
  /** Whether the batch sends rows before it ends. Default: it does. */
  readonly isSent?: boolean;
};
type Batch = How & { readonly batchId: string; readonly keyColumn?: 'ref' };

describe('a later run of a batch of creates', () => {
  let mirror: InProcessMirror;
  beforeEach(async () => {
    shortenBackOffs();
    mirror = await InProcessMirror.start({
      simulator: { awkward: false, counts: { [RESOURCE]: 0 }, windowDays: 36_500 },
      ...{ resource: RESOURCE, yaml: `{ name: ${RESOURCE}, window: none }` },
    });
  });
  afterEach(() => mirror.close());

  /** Stages a file whose rows differ only in their references. */
  async function staged(refs: readonly string[], { batchId, keyColumn }: Batch): Promise<WriteBackInput> {
    const file = join(mirror.folder, `${randomUUID()}.csv`);
    const lines = refs.map((ref) => `${ref},60,2026-11-20T08:00:00Z\n`);
    await writeFile(file, ['ref,durationSeconds:integer,startedAt\n', ...lines].join(''));
    return stageWriteBack(mirror.settings, {
      ...{ resource: RESOURCE, file, batchId },
      ...(keyColumn && { keyColumn }),
    });
  }

  /** A run of a batch: the activities as the workflow requests them. */
  async function run(
    input: WriteBackInput,
    { written, unknown = 'report', isSent = true }: How,
  ): Promise<WrittenResults> {
    mirror.execution = { workflowId: `write-back/${input.batchId}`, runId: randomUUID() };
    const policy = written ?? input.written;
    const planned = await mirror.step('worktrack.planWriteBack', {
      ...input,
      ...(policy && { written: policy }),
    });
    if ('readFirst' in planned) throw new Error('creates are not compared');
    if (planned.results !== null) return planned.results;
    const { connection, resource, batchId, keyColumn, system } = input;
    const ref = { connection, resource, batchId };
    const plan = { plan: planned.plan, unknown };
    const turn = await mirror.step('worktrack.claimRows', {
      ...{ ...ref, ...plan, keyColumn, system, written: policy },
    });
    const sending = { ...ref, plan: planned.plan, turn, run: mirror.execution.runId };
    if (isSent)
      await mirror.step('worktrack.sendRows', { ...sending, unknown, limitedSince: null }).catch(() => {});
    return mirror.step('worktrack.writeResults', sending);
  }

  async function write(refs: readonly string[], batch: Batch): Promise<WrittenResults> {
    return run(await staged(refs, batch), batch);
  }

  async function resend(
    batchId: string,
    order: ResendOrder,
    { again, isSent = true }: { readonly again?: true; readonly isSent?: boolean } = {},
  ): Promise<WrittenResults> {
    return run((await prepareResend(mirror.store, batchId, order, { connection: 'acme', again })).input, {
      isSent,
    });
  }
  const REJECTED = { rows: 'rejected', action: 'send' } as const;
  const UNKNOWN = { rows: 'unknown', action: 'send' } as const;
  const SETTLE = { rows: 'unknown', action: 'reject' } as const;

  const faults = () => mirror.simulator.admin.faults;
  const answerAll = (fault: typeof UNCLEAR | typeof REJECTS): void =>
    void faults().add({ match: POST, fault });
  /** The answer to a row with a key. */
  const answer = (batchId: string, key: string, fault: typeof UNCLEAR | typeof REJECTS): void =>
    void faults().add({ match: { idempotencyKey: idempotencyKey('acme', batchId, key) }, fault });
  const acceptAll = (): void => faults().clear();

  async function receipts(batchId: string): Promise<Receipt[]> {
    const found: Receipt[] = [];
    for await (const receipt of readReceipts(mirror.store, batchId, {})) found.push(receipt);
    return found;
  }
  const outcomes = async (batchId: string) =>
    (await receipts(batchId)).map(({ row, outcome }) => `${row} ${outcome}`);
  const records = (): number => mirror.simulator.admin.records(RESOURCE).length;
  const keyed = { keyColumn: 'ref' } as const;

  /** A batch `b` with a third copy of a row, after `a` has created two of them. The service rejects the copy. */
  async function thirdCopyRejected(): Promise<void> {
    await write(['x', 'x'], { batchId: 'a' });
    answerAll(REJECTS);
    const file = await write(['x', 'x', 'x'], { batchId: 'b', written: 'skip' });
    expect(file.counts).toMatchObject({ skipped: 2, rejected: 1 });
    acceptAll();
  }

  it('writes a rejected copy of a row whose other copies another batch has written', async () => {
    await thirdCopyRejected();
    const sent = await resend('b', REJECTED);
    expect(sent).toMatchObject({ counts: { created: 1, skipped: 2 }, unsent: 0 });
    expect([records(), await outcomes('b')]).toEqual([3, ['1 skipped', '2 skipped', '3 created']]);
    expect((await receipts('b'))[0]!.message).toBe('already written by batch a');
    // The ledger has three of them.
    expect((await write(['x', 'x', 'x', 'x'], { batchId: 'c', written: 'skip' })).counts).toMatchObject({
      ...{ created: 1, skipped: 3 },
    });
  });

  it.each(['send', 'new-key', 'reject'] as const)(
    'keeps the receipts of the rows that another batch has written (%s)',
    async (action) => {
      await write(['1', '2', '3', '4'], { batchId: 'a', ...keyed });
      answer('b', '5', REJECTS);
      await write(['1', '2', '3', '4', '5', '6'], { batchId: 'b', ...keyed });
      acceptAll();
      const sent = await resend('b', { rows: [5], action });
      const isSettled = action === 'reject';
      expect(sent).toMatchObject({
        counts: { skipped: 4, created: isSettled ? 1 : 2, rejected: isSettled ? 1 : 0 },
        unsent: 0,
      });
      expect((await receipts('b')).map(({ row }) => row)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(records()).toBe(isSettled ? 5 : 6);
    },
  );

  it('keeps them if rejected rows are corrected', async () => {
    await write(['1', '2'], { batchId: 'a', ...keyed });
    answer('b', '3', REJECTS);
    await write(['1', '2', '3'], { batchId: 'b', ...keyed });
    acceptAll();
    const header = 'ref,durationSeconds:integer,startedAt,_worktrack_batch,_worktrack_row';
    const file = join(mirror.folder, 'corrected.csv');
    await writeFile(file, `${header}\n3,90,2026-11-20T08:00:00Z,b,3\n`);
    const correction = await checkCorrections(mirror.settings, mirror.store, { resource: RESOURCE, file });
    await correction!.copy();
    const { input } = await prepareResend(mirror.store, 'b', correction!.order, {
      ...{ connection: 'acme', corrected: correction!.rows },
    });
    expect(await run(input, {})).toMatchObject({ counts: { skipped: 2, created: 1 }, unsent: 0 });
  });

  it('does not stop at a row that it is not asked for, whose key another batch has written with other cells', async () => {
    answer('b', '1', REJECTS);
    await write(['1'], { batchId: 'b', ...keyed });
    const input = await staged(['1', '2'], { batchId: 'b', ...keyed });
    // The batch ends before it sends the second row.
    faults().add({
      match: { idempotencyKey: idempotencyKey('acme', 'b', '2') },
      fault: { kind: 'status', status: 401 },
    });
    await run(input, {});
    acceptAll();
    const file = join(mirror.folder, 'changed.csv');
    await writeFile(file, 'ref,durationSeconds:integer,startedAt\n2,999,2026-11-20T08:00:00Z\n');
    await run(
      await stageWriteBack(mirror.settings, { resource: RESOURCE, file, batchId: 'c', ...keyed }),
      {},
    );
    expect(await resend('b', REJECTED)).toMatchObject({ counts: { created: 1 }, unsent: 1 });
  });

  describe('a batch with rows that another one may have written', () => {
    /** Rows 1 and 2 of `a` are in doubt; `b` has them, too, and row 3, which is unknown itself, and row 4, which is rejected. */
    async function bothInDoubt(): Promise<void> {
      answerAll(UNCLEAR);
      await write(['1', '2'], { batchId: 'a', ...keyed });
      acceptAll();
      answer('b', '3', UNCLEAR);
      answer('b', '4', REJECTS);
      const found = await write(['1', '2', '3', '4', '5'], { batchId: 'b', ...keyed });
      expect(found).toMatchObject({ counts: { created: 1, unknown: 3, rejected: 1 }, ofOthers: 2 });
      acceptAll();
    }
    const prepared = async (order: ResendOrder) => {
      const { rows, first, ofOthers } = await prepareResend(mirror.store, 'b', order, { connection: 'acme' });
      return { rows, first, ofOthers };
    };

    it('announces only the rows that it sends or settles, and keeps the others unknown', async () => {
      await bothInDoubt();
      for (const order of [UNKNOWN, SETTLE])
        expect(await prepared(order)).toEqual({ rows: 1, first: [3], ofOthers: 2 });
      expect(await resend('b', REJECTED)).toMatchObject({
        ...{ counts: { created: 2, unknown: 3 }, unsent: 0, ofOthers: 2 },
      });
      // What is in doubt is now known from an earlier plan.
      expect(await prepared(UNKNOWN)).toEqual({ rows: 1, first: [3], ofOthers: 2 });
      expect(await resend('b', UNKNOWN)).toMatchObject({
        ...{ counts: { created: 3, unknown: 2 }, unsent: 0, ofOthers: 2 },
      });
      expect(await prepared(UNKNOWN)).toEqual({ rows: 0, first: [], ofOthers: 2 });
      await resend('a', UNKNOWN);
      expect((await write(['1', '2', '3', '4', '5'], { batchId: 'b', ...keyed })).counts).toMatchObject({
        ...{ created: 3, skipped: 2, unknown: 0 },
      });
      expect(records()).toBe(5);
    });

    it('sends or settles rows by their numbers', async () => {
      await bothInDoubt();
      await resend('a', SETTLE);
      expect(await resend('b', { rows: [1], action: 'send' }, { again: true })).toMatchObject({
        ...{ counts: { created: 2, unknown: 2 }, ofOthers: 1 },
      });
      expect(await resend('b', { rows: [2], action: 'reject' })).toMatchObject({
        ...{ counts: { created: 2, unknown: 1, rejected: 2 }, ofOthers: 0 },
      });
      // What was written is no longer in doubt.
      const later = await write(['1', '2'], { batchId: 'c', ...keyed });
      expect(later).toMatchObject({ counts: { skipped: 1, unknown: 1 }, ofOthers: 1 });
    });

    it('does not correct them, and says where the advice is', async () => {
      await bothInDoubt();
      const order = { ...REJECTED, rows: 'corrected', corrections: {} as never } as const;
      const refused = prepareResend(mirror.store, 'b', order, { connection: 'acme', corrected: [1, 3] });
      await expect(refused).rejects.toThrow(
        /row 1 is unknown \(its receipt says .* receipts b --rejected\); row 3 is unknown \(settle it first: .* resend b --rows 3\)/,
      );
    });

    it('sends no row again that an earlier run without logs may have written, and says how it is settled', async () => {
      answerAll(UNCLEAR);
      await write(['1'], { batchId: 'b', ...keyed });
      acceptAll();
      const gone = [];
      for await (const { key } of mirror.store.list('_write-back/b/')) gone.push(key);
      await mirror.store.remove(gone);
      answer('b', '2', REJECTS);
      const file = ['1', '2'];
      expect(await write(file, { batchId: 'b', ...keyed })).toMatchObject({
        ...{ counts: { unknown: 1, rejected: 1 }, ofOthers: 1 },
      });
      acceptAll();
      expect(await prepared(UNKNOWN)).toEqual({ rows: 0, first: [], ofOthers: 1 });
      expect(await resend('b', REJECTED)).toMatchObject({ counts: { unknown: 1, created: 1 }, unsent: 0 });
      expect((await receipts('b'))[0]!.message).toContain('--unknown resend');
      expect((await write(file, { batchId: 'b', ...keyed, unknown: 'resend' })).counts.created).toBe(2);
    });
  });

  describe('a row that a user has settled', () => {
    /** A batch `a` whose only row may have been written. */
    async function inDoubt(batch: Partial<Batch> = keyed): Promise<void> {
      answerAll(UNCLEAR);
      await write(['1'], { batchId: 'a', ...batch });
      acceptAll();
    }
    const laterFile = async (batchId = 'c') => (await write(['1', '2'], { batchId, ...keyed })).counts;

    it('stays in doubt for other files, however often it is settled', async () => {
      await inDoubt();
      expect((await resend('a', SETTLE)).counts).toMatchObject({ rejected: 1, unknown: 0 });
      expect(await laterFile()).toMatchObject({ created: 1, unknown: 1 });
      await resend('a', { rows: [1], action: 'reject' });
      await write(['1'], { batchId: 'a', ...keyed });
      expect(await laterFile('d')).toMatchObject({ skipped: 1, unknown: 1 });
      expect(records()).toBe(1);
    });

    it('stays in doubt if it is asked for again and not sent, or refused', async () => {
      await inDoubt();
      await resend('a', SETTLE);
      const again = { rows: [1], action: 'send' } as const;
      expect((await resend('a', again, { isSent: false })).counts).toMatchObject({ rejected: 1 });
      expect(await laterFile('c')).toMatchObject({ created: 1, unknown: 1 });
      faults().add({ match: POST, fault: { kind: 'status', status: 401 } });
      expect((await resend('a', again)).counts).toMatchObject({ unknown: 1 });
      acceptAll();
      expect(await laterFile('d')).toMatchObject({ skipped: 1, unknown: 1 });
      // Sent again, it is written, and no longer in doubt.
      expect((await resend('a', again)).counts).toMatchObject({ created: 1 });
      expect(await laterFile('e')).toMatchObject({ skipped: 2, unknown: 0 });
    });

    it('is not rejected by the answer to a later request, once its key may be forgotten', async () => {
      await inDoubt();
      await resend('a', SETTLE);
      await mirror.configure(`{ name: ${RESOURCE}, window: none }`, '    writeBack: { unknownAfter: 1s }\n');
      await new Promise((resolve) => setTimeout(resolve, 1100));
      answerAll(REJECTS);
      expect((await resend('a', { rows: [1], action: 'send' })).counts).toMatchObject({ unknown: 1 });
      acceptAll();
      expect(await laterFile()).toMatchObject({ created: 1, unknown: 1 });
    });

    it('does not end the doubt of an equal row', async () => {
      faults().add({ match: POST, remaining: 1, fault: REJECTS });
      await write(['1'], { batchId: 'a' });
      acceptAll();
      answerAll(UNCLEAR);
      await write(['1', '1'], { batchId: 'a' });
      acceptAll();
      const before = await outcomes('a');
      expect(before).toEqual(['1 rejected', '2 unknown']);
      expect((await resend('a', { rows: [1], action: 'reject' })).counts).toMatchObject({
        ...{ rejected: 1, unknown: 1 },
      });
      const found = await write(['1'], { batchId: 'c', written: 'skip' });
      expect(found.counts).toMatchObject({ created: 0, unknown: 1 });
      expect((await resend('a', UNKNOWN)).counts).toMatchObject({ created: 1, rejected: 1 });
      const last = await write(['1', '1'], { batchId: 'd', written: 'skip' });
      expect(last.counts).toMatchObject({ skipped: 1, created: 1, unknown: 0 });
    });
  });

  it('does not take another record for one of a row that it leaves in doubt', async () => {
    answerAll(UNCLEAR);
    await write(['x'], { batchId: 'b' });
    acceptAll();
    const [{ idempotencyKey: first }] = (await receipts('b')) as [Receipt];
    faults().add({ match: { idempotencyKey: first }, fault: UNCLEAR });
    answerAll(REJECTS);
    await write(['x', 'x'], { batchId: 'b' });
    acceptAll();
    expect(await outcomes('b')).toEqual(['1 unknown', '2 rejected']);
    expect((await write(['x', 'x'], { batchId: 'c', written: 'skip' })).counts.created).toBe(1);
    expect((await resend('b', REJECTED)).counts).toMatchObject({ skipped: 1, unknown: 1 });
    expect(await outcomes('b')).toEqual(['1 unknown', '2 skipped']);
  });

  it('keeps the doubt of a row that it leaves, whatever it leaves before it', async () => {
    await write(['x'], { batchId: 'a' });
    answerAll(UNCLEAR);
    await write(['x', 'x'], { batchId: 'b', written: 'skip' });
    acceptAll();
    expect(await outcomes('b')).toEqual(['1 skipped', '2 unknown']);
    expect((await resend('b', REJECTED)).counts).toMatchObject({ skipped: 1, unknown: 1 });
    // One copy is written, and one is in doubt.
    expect((await write(['x', 'x', 'x'], { batchId: 'c', written: 'skip' })).counts).toMatchObject({
      ...{ skipped: 1, unknown: 1, created: 1 },
    });
  });
});
