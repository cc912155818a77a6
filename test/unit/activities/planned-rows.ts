import { ChunkWriter } from '../../../activities/write-back/plan-write-back.js';
import { SendClock } from '../../../activities/write-back/send-clock.js';
import { writePlan } from '../../../activities/write-back/stored-batch.js';
import { type ObjectKey, toByteString } from '../../../src/core/brands.js';
import type { RunClocks } from '../../../src/lake/documents/run-file.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import type { SendingRules } from '../../../src/write-back/plan-file.js';

/** How the rows are sent. */
export const SENDING: SendingRules = {
  ...{ form: 'uuid-v5', header: 'Idempotency-Key', repeat: 'always', path: 'time-entries', style: null },
};

/** What three clocks show that agree. */
export function clocksAt(at: number): RunClocks {
  return { temporal: at, worker: at, store: null };
}

/** The clocks of an attempt, which agree. */
export function sendClock(now: () => number = Date.now): SendClock {
  return new SendClock({ now }, { serverTime: () => null }, now);
}

/** The key of the plan that `planRows` writes. */
export const PLAN = '_write-back/b/_batch/plans/000001-x-1/plan.json' as ObjectKey;

/** Plans rows whose field `n` is their number, from 1, and whose `note` names it. @param tried number of rows that an earlier run may have sent */
export async function planRows(
  store: ObjectStore,
  rows: number,
  rowsAChunk: number,
  tried = 0,
): Promise<void> {
  const writer = new ChunkWriter(store, PLAN, 'w', rowsAChunk);
  for (let row = 1; row <= rows; row++) {
    await writer.add({
      ...{ row, line: row + 1, key: `k${row}`, idempotencyKey: `u${row}`, content: '', pair: null },
      ...{ body: toByteString(`{"n":${row},"note":"row ${row}"}`), verdict: null, receipt: null },
      sentAt: row <= tried ? Date.now() : null,
    });
  }
  const { chunks, pending } = await writer.finish();
  await writePlan(store, PLAN, {
    sequence: 1,
    baseUrl: 'http://127.0.0.1:1',
    input: PLAN,
    rows,
    chunks,
    pending,
    writer: 'w',
  });
}
