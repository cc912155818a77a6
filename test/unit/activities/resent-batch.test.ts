import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WriteBackInput, WrittenResults } from '../../../src/core/contract/write-back.js';
import { prepareResend } from '../../../src/write-back/prepare-resend.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import { BatchUndo, snapshotForUndo } from '../../../src/write-back/undo-batch.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';

const RESOURCE = 'calendar-entries';
const START = '2026-11-20T08:00:00Z';
const BATCH = { connection: 'acme', resource: RESOURCE, batchId: 'one' } as const;

type Row = readonly [sourceKey: string, title: string];

describe('a later plan of a batch of upserts', () => {
  let mirror: InProcessMirror;
  beforeEach(async () => {
    mirror = await InProcessMirror.start({
      simulator: { awkward: false, counts: { [RESOURCE]: 0 }, windowDays: 36_500 },
      ...{ resource: RESOURCE, yaml: `{ name: ${RESOURCE}, window: 36500d, windowField: startsAt }` },
    });
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
  async function write(input: WriteBackInput): Promise<WrittenResults> {
    mirror.execution = { workflowId: 'write-back', runId: randomUUID() };
    let planned = await mirror.step('worktrack.planWriteBack', input);
    if ('readFirst' in planned) {
      await mirror.run();
      planned = await mirror.step('worktrack.planWriteBack', { ...input, increment: 'published' });
    }
    if ('readFirst' in planned) throw new Error('the plan asks for a second increment');
    const { connection, resource, batchId } = input;
    const batch = { connection, resource, batchId, plan: planned.plan, turn: null, run: randomUUID() };
    await mirror.step('worktrack.sendRows', { ...batch, unknown: 'report', limitedSince: null });
    return mirror.step('worktrack.writeResults', batch);
  }

  /** Sends the rejected rows again. */
  async function resend(): Promise<WrittenResults> {
    const order = { rows: 'rejected', action: 'send' } as const;
    const { input } = await prepareResend(mirror.store, BATCH.batchId, order, { connection: 'acme' });
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

  describe('a batch with several plans, undone', () => {
    /** The titles that an undo would send, by `sourceKey`, and what it leaves out. */
    async function undo() {
      await mirror.run();
      const found = new BatchUndo(mirror.store, BATCH.batchId, { withNull: false, maxCells: 20 });
      const snapshot = await snapshotForUndo(mirror.store, mirror.settings, 'upserts');
      const sent: Record<string, unknown> = {};
      for await (const line of found.lines(snapshot)) {
        const { sourceKey, title } = JSON.parse(line) as Record<string, string>;
        sent[sourceKey!] = title;
      }
      return { sent, left: found.summary().left.map(({ why, rows }) => `${why} ${rows}`) };
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

    it('keeps the values from before the first request of a row without an answer', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      const { faults } = mirror.simulator.admin;
      faults.add({ match: { method: 'PUT', path: '/4' }, fault: { kind: 'lose-response' } });
      const input = await staged(NEW);
      await write(input).catch(() => {});
      acceptAll();
      await write(input);
      expect((await undo()).sent).toEqual({ '1': 'title 1', '2': 'title 2', '3': 'title 3', '4': 'title 4' });
    });

    it('keeps nothing if its increment has failed, or if no row is looked for', async () => {
      await write(await staged(ROWS, { batchId: 'before' }));
      const input = await staged(NEW);
      const planned = await mirror.step('worktrack.planWriteBack', { ...input, increment: 'failed' });
      expect('readFirst' in planned).toBe(false);
      expect((await write({ ...input, readBack: false })).counts).toMatchObject({ updated: 4 });
      expect(await undo()).toEqual({ sent: {}, left: ['not-kept 1-4'] });
    });
  });
});
