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
import { writeExpected } from '../../../src/write-back/expected-states.js';
import { prepareResend } from '../../../src/write-back/prepare-resend.js';
import { writtenBatch } from '../../../src/write-back/results.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import { readTargetSystem } from '../../../src/write-back/system.js';
import { BatchUndo, snapshotForUndo, undoBatchId, undoneBy } from '../../../src/write-back/undo-batch.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { shortenBackOffs } from '../../support/short-waits.js';

const RESOURCE = 'calendar-entries';
const START = '2026-11-20T08:00:00Z';
const BATCH = { connection: 'acme', resource: RESOURCE, batchId: 'one' } as const;

type Row = readonly [sourceKey: string, title: string];

interface How {
  readonly increment: 'published' | 'failed';
  readonly unknown: UnknownPolicy;
}

describe('a later plan of a batch of upserts', () => {
  let mirror: InProcessMirror;
  async function startMirror(connection = ''): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { awkward: false, counts: { [RESOURCE]: 0 }, windowDays: 36_500 },
      ...{ resource: RESOURCE, yaml: `{ name: ${RESOURCE}, window: 36500d, windowField: startsAt }` },
      connection,
    });
  }
  beforeEach(async () => {
    shortenBackOffs();
    await startMirror();
  });
  afterEach(() => mirror.close());

  async function staged(
    rows: readonly Row[],
    more: { readonly batchId?: string; readonly lastWins?: true; readonly skipUnchanged?: true } = {},
  ): Promise<WriteBackInput> {
    const file = join(mirror.folder, `${randomUUID()}.csv`);
    const lines = rows.map(([key, title]) => `cal,${key},${title},${START}\n`);
    await writeFile(file, ['source,sourceKey,title,startsAt\n', ...lines].join(''));
    return stageWriteBack(mirror.settings, { resource: RESOURCE, file, batchId: BATCH.batchId, ...more });
  }

  /** A run of a batch: the activities as the workflow requests them. */
  async function write(
    input: WriteBackInput,
    { increment = 'published', unknown = 'report' }: Partial<How> = {},
  ): Promise<WrittenResults> {
    mirror.execution = { workflowId: 'write-back', runId: randomUUID() };
    let planned = await mirror.step('worktrack.planWriteBack', input);
    if ('readFirst' in planned) {
      if (increment === 'published') await mirror.run();
      planned = await mirror.step('worktrack.planWriteBack', { ...input, increment });
    }
    if ('readFirst' in planned) throw new Error('the plan asks for a second increment');
    const { connection, resource, batchId } = input;
    const batch = { connection, resource, batchId, plan: planned.plan, turn: null, run: randomUUID() };
    try {
      await mirror.step('worktrack.sendRows', { ...batch, unknown, limitedSince: null });
    } catch (error) {
      await mirror.step('worktrack.writeResults', batch);
      throw error;
    }
    return mirror.step('worktrack.writeResults', batch);
  }

  /** Sends the rejected rows again, or does something else with rows. */
  async function resend(
    order: ResendOrder = { rows: 'rejected', action: 'send' },
    batchId: string = BATCH.batchId,
  ): Promise<WrittenResults> {
    const { input } = await prepareResend(mirror.store, batchId, order, { connection: 'acme' });
    return write(input);
  }

  /** What the next look finds, after a read. */
  async function confirmed() {
    await mirror.run({ full: true });
    return (await mirror.step('worktrack.confirmRows', BATCH)).counts;
  }

  const reject = (path: string): void => {
    const { faults } = mirror.simulator.admin;
    faults.add({ match: { method: 'PUT', path }, fault: { kind: 'status', status: 422 } });
  };
  const acceptAll = (): void => mirror.simulator.admin.faults.clear();
  const update = (sourceKey: string, title: string): void => {
    const { admin } = mirror.simulator;
    const records = admin.records(RESOURCE).map((text) => JSON.parse(text) as Record<string, string>);
    admin.update(RESOURCE, records.find((one) => one.sourceKey === sourceKey)!.id!, { title });
  };

  const ROWS: readonly Row[] = ['1', '2', '3', '4'].map((key) => [key, `title ${key}`]);

  it('compares the rows that earlier plans have written with their records', async () => {
    reject('/4');
    expect((await write(await staged(ROWS))).counts).toMatchObject({ created: 3, rejected: 1 });
    update('2', 'rounded by the service');
    acceptAll();
    expect((await resend()).counts).toMatchObject({ created: 4, rejected: 0 });
    expect(await confirmed()).toMatchObject({ confirmed: 3, differs: 1, notSeen: 0 });
  });

  it('compares no row whose record a later row of the input has changed', async () => {
    await write(await staged(ROWS.slice(0, 1)));
    const later = await staged([ROWS[0]!, ['1', 'other title']], { lastWins: true });
    expect((await write(later)).counts).toMatchObject({ created: 1, updated: 1 });
    expect(await confirmed()).toMatchObject({ confirmed: 2, differs: 0, notSeen: 0 });
  });

  it('still leaves out the rows that were unchanged, however often rejected rows are sent again', async () => {
    await write(await staged(ROWS, { batchId: 'before' }));
    // A plan with the same rows that has sent none.
    const unsent = await staged([...ROWS.slice(0, 2), ['5', 'never sent']]);
    await mirror.step('worktrack.planWriteBack', unsent);
    reject('/4');
    const rows: readonly Row[] = [...ROWS.slice(0, 2), ['3', 'new 3'], ['4', 'new 4']];
    const input = await staged(rows, { skipUnchanged: true });
    const first = await write(input);
    expect(first).toMatchObject({ counts: { skipped: 2, updated: 1, rejected: 1 }, unsent: 0 });
    expect(await resend()).toMatchObject({ counts: { skipped: 2, updated: 1, rejected: 1 }, unsent: 0 });
    acceptAll();
    expect(await resend()).toMatchObject({ counts: { skipped: 2, updated: 2, rejected: 0 }, unsent: 0 });
  });

  it('compares rows that were unchanged again, if it is for the whole file', async () => {
    await write(await staged(ROWS, { batchId: 'before' }));
    reject('/4');
    const input = await staged([...ROWS.slice(0, 3), ['4', 'new 4']], { skipUnchanged: true });
    expect((await write(input)).counts).toMatchObject({ skipped: 3, rejected: 1 });
    update('1', 'by a person');
    const more = await staged([...ROWS.slice(0, 3), ['5', 'new 5']], { skipUnchanged: true });
    expect((await write(more)).counts).toMatchObject({ skipped: 2, updated: 1, created: 1 });
  });

  it('compares its rows again in each run, apart from those that may have been written', async () => {
    await write(await staged(ROWS, { batchId: 'before' }));
    const { faults } = mirror.simulator.admin;
    faults.add({ match: { method: 'PUT', path: '/4' }, fault: { kind: 'lose-response' } });
    const some = await staged([...ROWS.slice(0, 3), ['4', 'new 4']], { skipUnchanged: true });
    const input = { ...some, readBack: false };
    await write(input).catch(() => {});
    acceptAll();
    update('1', 'by a person');
    // The record of row 4 has its values, because the row has written it.
    expect((await write(input)).counts).toMatchObject({ skipped: 2, updated: 2, unknown: 0 });
    const records = mirror.simulator.admin.records(RESOURCE).map((text) => JSON.parse(text));
    const titles = Object.fromEntries(records.map(({ sourceKey, title }) => [sourceKey, title]));
    expect(titles).toEqual({ '1': 'title 1', '2': 'title 2', '3': 'title 3', '4': 'new 4' });
  });

  it('asks about exactly the rejected rows that it sends again, and none that a user has settled', async () => {
    reject('/2');
    reject('/4');
    expect((await write(await staged(ROWS))).counts).toMatchObject({ created: 2, rejected: 2 });
    await resend({ rows: [4], action: 'reject' });
    acceptAll();
    const asked = await prepareResend(
      mirror.store,
      BATCH.batchId,
      { rows: 'rejected', action: 'send' },
      { connection: 'acme' },
    );
    expect(asked).toMatchObject({ rows: 1, first: [2] });
    expect((await resend()).counts).toMatchObject({ created: 3, rejected: 1 });
  });

  it('is one of the same batch, whether rows that change nothing are left out or not', async () => {
    const file = join(mirror.folder, 'same.csv');
    await writeFile(file, `source,sourceKey,title,startsAt\ncal,1,title 1,${START}\ncal,2,new,${START}\n`);
    await write(await staged(ROWS.slice(0, 1), { batchId: 'before' }));
    const all = await stageWriteBack(mirror.settings, { resource: RESOURCE, file });
    const some = await stageWriteBack(mirror.settings, { resource: RESOURCE, file, skipUnchanged: true });
    expect(some.batchId).toBe(all.batchId);
    expect((await write(some)).counts).toMatchObject({ skipped: 1, created: 1 });
    // The receipts of both are those of the batch, and a row is written once.
    expect((await write(all)).counts).toMatchObject({ skipped: 0, created: 1, updated: 1 });
    expect(mirror.simulator.admin.records(RESOURCE)).toHaveLength(2);
    const written = async (input: WriteBackInput) => {
      const system = await readTargetSystem(mirror.store, mirror.settings, undefined);
      const inputs = [some.input, all.input].filter((one) => one !== input.input);
      return writtenBatch(mirror.store, all.batchId, inputs, { policy: undefined, system });
    };
    expect(await written(some)).not.toBeNull();
    expect(await written(all)).toBeNull();
    expect((await write(some)).counts).toMatchObject({ skipped: 0, created: 1, updated: 1 });
  });

  describe('a batch with several plans, undone', () => {
    /** The titles that an undo would send, by `sourceKey`, and what it leaves out. */
    async function undo() {
      const { lines, found } = await decided();
      const sent: Record<string, unknown> = {};
      for (const line of lines) {
        const { sourceKey, title } = JSON.parse(line) as Record<string, string>;
        sent[sourceKey!] = title;
      }
      return { sent, left: found.summary().left.map(({ why, rows }) => `${why} ${rows}`) };
    }

    async function decided() {
      await mirror.run();
      const found = new BatchUndo(mirror.store, BATCH.batchId, { withNull: false, maxCells: 20 });
      const snapshot = await snapshotForUndo(mirror.store, mirror.settings, 'upserts');
      const lines: string[] = [];
      for await (const line of found.lines(snapshot)) lines.push(line);
      return { lines, found };
    }

    /** The batch that undoes the rows, as the command stages it. */
    async function stagedUndo(): Promise<WriteBackInput> {
      const { lines, found } = await decided();
      const batchId = await undoBatchId(mirror.store, BATCH.batchId);
      const file = join(mirror.folder, `${randomUUID()}.ndjson`);
      await writeFile(file, lines.join(''));
      const expected = await writeExpected(mirror.store, batchId, found.expected);
      const input = await stageWriteBack(mirror.settings, { resource: RESOURCE, file, batchId });
      return { ...input, expected };
    }

    function titles(): Record<string, unknown> {
      const records = mirror.simulator.admin.records(RESOURCE).map((text) => JSON.parse(text));
      return Object.fromEntries(records.map(({ sourceKey, title }) => [sourceKey, title]));
    }
    const NEW: readonly Row[] = ROWS.map(([key]) => [key, `new ${key}`]);

    it('keeps the values from before the plan that has written a row', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      reject('/4');
      expect((await write(await staged(NEW))).counts).toMatchObject({ updated: 3, rejected: 1 });
      // A person changes a record before its row is written.
      update('4', 'by a person');
      acceptAll();
      expect((await resend()).counts).toMatchObject({ updated: 4, rejected: 0 });
      const sent = { '1': 'title 1', '2': 'title 2', '3': 'title 3', '4': 'by a person' };
      expect(await undo()).toEqual({ sent, left: [] });
    });

    /** Writes the rows, and then the new ones, whose row 4 stays without an answer. */
    async function loseAnswer() {
      await write(await staged(ROWS, { batchId: 'before' }));
      const { faults } = mirror.simulator.admin;
      faults.add({ match: { method: 'PUT', path: '/4' }, fault: { kind: 'lose-response' } });
      const input = await staged(NEW);
      await write(input).catch(() => {});
      acceptAll();
      return input;
    }

    it('keeps the values from before the first request of a row without an answer', async () => {
      const input = await loseAnswer();
      await write(input);
      expect((await undo()).sent).toEqual({ '1': 'title 1', '2': 'title 2', '3': 'title 3', '4': 'title 4' });
    });

    it.each([
      ['its increment has failed', {}, {}, 'failed'],
      ['no row is looked for', {}, { readBack: false }, 'published'],
      [
        'no row is looked for, and unchanged ones are left out',
        { skipUnchanged: true },
        { readBack: false },
        'published',
      ],
    ] as const)('keeps nothing if %s', async (_, more, options, increment) => {
      await write(await staged(ROWS, { batchId: 'before' }));
      const input = { ...(await staged(NEW, more)), ...options };
      expect((await write(input, { increment })).counts).toMatchObject({ updated: 4 });
      expect(await undo()).toEqual({ sent: {}, left: ['not-kept 1-4'] });
    });

    it('keeps the values from before the first request of a row that a user has settled', async () => {
      await loseAnswer();
      await resend({ rows: [4], action: 'reject' });
      expect(await undo()).toMatchObject({ left: ['unknown 4'] });
      expect((await resend({ rows: [4], action: 'send' })).counts).toMatchObject({ updated: 4 });
      expect((await undo()).sent).toMatchObject({ '4': 'title 4' });
    });

    it('tells that a row may have been written that was settled as skipped', async () => {
      await mirror.close();
      await startMirror('    writeBack: { unknownAfter: 1s }\n');
      await write(await staged(ROWS, { batchId: 'before' }));
      const { faults } = mirror.simulator.admin;
      faults.add({ match: { method: 'PUT', path: '/4' }, fault: { kind: 'lose-response' } });
      const input = await staged([...NEW, ['5', 'new 5']]);
      await write(input).catch(() => {});
      acceptAll();
      const settled = await write(input, { unknown: 'skip' });
      expect(settled.counts).toMatchObject({ updated: 3, skipped: 1, created: 1 });
      expect((await undo()).left).toEqual(['created 5', 'unknown 4']);
    });

    it('writes no record that has changed since the undo was decided', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      await write(await staged(NEW));
      const input = await stagedUndo();
      update('2', 'by a person');
      await write(await staged([['3', 'by a later batch']], { batchId: 'later' }));
      expect(await write({ ...input, readBack: false })).toMatchObject({
        counts: { updated: 2, skipped: 2 },
      });
      expect(titles()).toEqual({
        '1': 'title 1',
        '2': 'by a person',
        '3': 'by a later batch',
        '4': 'title 4',
      });
      // Its rows are sent again only if their records are still the same.
      update('4', 'new 4');
      const again = await stagedUndo();
      expect(again.batchId).toBe('undo-one-2');
      const undone = { batchId: 'undo-one', rows: 2 };
      expect(await undoneBy(mirror.store, BATCH.batchId)).toMatchObject(undone);
      reject('/4');
      expect((await write(again)).counts).toMatchObject({ rejected: 1 });
      acceptAll();
      update('4', 'by a person');
      await resend({ rows: 'rejected', action: 'reject' }, again.batchId);
      await resend({ rows: [1], action: 'send' }, again.batchId);
      expect(titles()).toMatchObject({ '4': 'by a person' });
      // The second undo has written none.
      expect(await undoneBy(mirror.store, BATCH.batchId)).toMatchObject(undone);
      expect(await undoneBy(mirror.store, 'later')).toBeNull();
    });

    it('is written again under another id', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      await write(await staged(NEW));
      await write(await stagedUndo());
      expect((await write(await staged(NEW))).counts).toMatchObject({ updated: 4 });
      expect(titles()).toMatchObject({ '1': 'title 1' });
      expect((await write(await staged(NEW, { batchId: 'again' }))).counts).toMatchObject({ updated: 4 });
      expect(titles()).toMatchObject({ '1': 'new 1' });
    });

    it('sends nothing if it cannot compare the records again', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      await write(await staged(NEW));
      const input = await stagedUndo();
      await expect(write(input, { increment: 'failed' })).rejects.toThrow('nothing was sent');
      expect(titles()).toMatchObject({ '1': 'new 1' });
      expect((await stagedUndo()).batchId).toBe('undo-one');
    });

    it('is another batch than one that was stopped', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      await write(await staged(NEW));
      const first = await stagedUndo();
      mirror.execution = { workflowId: 'write-back', runId: randomUUID() };
      await mirror.step('worktrack.planWriteBack', { ...first, increment: 'published' });
      const second = await stagedUndo();
      expect([first.batchId, second.batchId]).toEqual(['undo-one', 'undo-one-2']);
      expect((await write(second)).counts).toMatchObject({ updated: 4 });
    });
  });
});
