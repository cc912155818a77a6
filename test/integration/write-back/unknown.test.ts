import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import { idempotencyKey } from '../../../src/write-back/idempotency-key.js';
import { longOnly } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import type { Stack } from '../../support/stack.js';
import {
  cancelWriteBack,
  fileIn,
  readReceipts,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  writeBack,
  writesSeen,
} from '../../support/write-back.js';

shortenBackOffs();

/** Rows that are written each time they are sent, and whose response never arrives. */
const LOST = ['r3', 'r9', 'r20'];

describe('rows with an unknown outcome', () => {
  let stack: Stack;
  let batch: { resource: string; file: string; batchId: string; keyColumn: string };
  let worker: { stop(): Promise<void> };

  /** A batch that is cancelled after all of its rows were written, and the responses of three are lost. */
  async function loseThree(): Promise<void> {
    stack = await startWriteBackStack();
    worker = await stack.startWorker();
    const rows = Array.from({ length: 30 }, (_, n) => `r${n + 1},60,2026-11-20T08:00:00Z\n`);
    const file = await fileIn(stack, `ref,durationSeconds:integer,startedAt\n${rows.join('')}`);
    batch = { resource: 'time-entries', file, batchId: 'lossy', keyColumn: 'ref' };
    for (const ref of LOST) {
      const match = { idempotencyKey: idempotencyKey(stack.connection, 'lossy', ref) };
      stack.simulator.admin.faults.add({ match, fault: { kind: 'lose-response' } });
    }
    const areWritten = () => recordsOf(stack, 'time-entries').length === 30;
    const cancelled = await cancelWriteBack(stack, batch, areWritten, 'all rows are written');
    expect(cancelled).toMatchObject({ outcome: 'cancelled', counts: { created: 27, unknown: 3 } });
    expect(recordsOf(stack, 'time-entries').length).toBe(30);
    stack.simulator.admin.faults.clear();
  }

  /** Replaces the worker by one that assumes that the service remembers keys for this time. */
  async function assume(unknownAfterMs: number): Promise<void> {
    await worker.stop();
    const [connection] = stack.settings.connections;
    const changed = { ...connection!, writeBack: { ...connection!.writeBack, unknownAfterMs } };
    worker = await stack.startWorker({ ...stack.settings, connections: [changed] });
  }
  afterEach(() => stopWriteBackStack(stack));

  it('are sent again with the same keys while the service is assumed to remember them', async () => {
    await loseThree();
    const result = await writeBack(stack, batch);
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 30 } });
    expect(recordsOf(stack, 'time-entries').length).toBe(30);
  });

  it('are listed after that, and sent again or left only by an option', async () => {
    await loseThree();
    await assume(1);
    const seen = writesSeen(stack);
    const listed = await writeBack(stack, batch);
    expect(listed).toMatchObject({ outcome: 'incomplete', counts: { created: 27, unknown: 3 } });
    expect(writesSeen(stack)).toBe(seen);
    const unknown = (await readReceipts(stack, listed.batchId)).filter(
      ({ outcome }) => outcome === 'unknown',
    );
    expect(unknown.length).toBe(3);
    expect(unknown[0]!.message).toMatch(/^sent at 20\d\d-.* or later; the outcome is unknown/);

    await assume(HOUR_MS);
    const resent = await writeBack(stack, batch, { readBack: false, unknown: 'resend' });
    expect(resent).toMatchObject({ outcome: 'written', counts: { created: 30, unknown: 0 } });
    expect(writesSeen(stack)).toBe(seen + 3);
  });

  // test/unit/activities/resent-batch.test.ts settles a row as skipped with the same option.
  longOnly('are left permanently by an option', async () => {
    await loseThree();
    await assume(1);
    const seen = writesSeen(stack);
    const skipped = await writeBack(stack, batch, { readBack: false, unknown: 'skip' });
    expect(skipped).toMatchObject({ outcome: 'written', counts: { created: 27, skipped: 3 } });
    const again = await writeBack(stack, batch, { readBack: false, unknown: 'resend' });
    expect(again.counts).toMatchObject({ created: 27, skipped: 3 });
    expect(writesSeen(stack)).toBe(seen);
  });

  // test/unit/write-back/ledger.test.ts: "does not send a row of its own batch that may have been written, if the logs are gone".
  longOnly(
    'are not sent again without an option, even if the folder of their batch was removed',
    async () => {
      await loseThree();
      await assume(1);
      const removeFolder = async (): Promise<void> => {
        const gone: ObjectKey[] = [];
        for await (const { key } of stack.store.list('_write-back/lossy/')) gone.push(key);
        await stack.store.remove(gone);
      };
      await removeFolder();
      const seen = writesSeen(stack);
      const policies = [{}, {}, { written: 'again' }] as const;
      for (const policy of policies) {
        const listed = await writeBack(stack, batch, { readBack: false, ...policy });
        expect(listed).toMatchObject({
          outcome: 'incomplete',
          counts: { created: 0, skipped: 27, unknown: 3 },
        });
      }
      const skipped = await writeBack(stack, batch, { readBack: false, unknown: 'skip' });
      expect(skipped).toMatchObject({ outcome: 'written', counts: { created: 0, skipped: 30 } });
      expect(writesSeen(stack)).toBe(seen);
      await removeFolder();
      await assume(HOUR_MS);
      const resent = await writeBack(stack, batch, { readBack: false, unknown: 'resend' });
      expect(resent).toMatchObject({ outcome: 'written', counts: { created: 3, skipped: 27, unknown: 0 } });
      expect(writesSeen(stack)).toBe(seen + 3);
    },
  );

  // test/unit/activities/broken-rows.test.ts has ten such files.
  longOnly(
    'do not hold up the other rows if the service always fails for them, and are sent once it does not',
    async () => {
      stack = await startWriteBackStack();
      await stack.startWorker();
      const rows = Array.from({ length: 120 }, (_, n) => `r${n + 1},60,2026-11-20T08:00:00Z\n`);
      const file = await fileIn(stack, `ref,durationSeconds:integer,startedAt\n${rows.join('')}`);
      batch = { resource: 'time-entries', file, batchId: 'broken', keyColumn: 'ref' };
      const faults = [
        { kind: 'status', status: 500 },
        { kind: 'status', status: 503 },
        { kind: 'reset' },
      ] as const;
      for (let row = 11; row <= 38; row++) {
        const match = { idempotencyKey: idempotencyKey(stack.connection, 'broken', `r${row}`) };
        stack.simulator.admin.faults.add({ match, fault: faults[row % 3]! });
      }
      const areWritten = () => recordsOf(stack, 'time-entries').length === 92;
      const cancelled = await cancelWriteBack(stack, batch, areWritten, 'all other rows are written');
      expect(cancelled).toMatchObject({ outcome: 'cancelled', counts: { created: 92, rejected: 0 } });
      for (const { row, outcome } of await readReceipts(stack, 'broken'))
        expect(outcome, `row ${row}`).toBe(Number(row) > 10 && Number(row) <= 38 ? 'unknown' : 'created');
      stack.simulator.admin.faults.clear();
      expect(await writeBack(stack, batch)).toMatchObject({ outcome: 'written', counts: { created: 120 } });
      expect(recordsOf(stack, 'time-entries').length).toBe(120);
    },
  );
});
