import type { ChunkRow, PlannedRow } from '../../src/write-back/index.js';
import type { KnownRows } from './known.js';

/** A row of a new plan with what earlier plans of its batch have come to: it is not sent again if that is known. */
export async function joinKnown(row: PlannedRow, known: KnownRows): Promise<ChunkRow> {
  const fresh: ChunkRow = { ...row, receipt: null, sentAt: null };
  // Twins within the input are told of as such.
  if (row.verdict !== null && row.verdict.outcome !== 'superseded') return fresh;
  const before = await known.find(row.key);
  if (before === null || (before.receipt === null && before.sentAt === null)) return fresh;
  if (before.content !== row.content) {
    const message = 'not sent: this batch has sent a row with the same key and other content before';
    return { ...fresh, verdict: { outcome: 'rejected', message } };
  }
  // A row that was written stays so, whatever the new input says below it.
  if (before.receipt !== null) return { ...fresh, verdict: null, receipt: before.receipt };
  return { ...fresh, sentAt: before.sentAt };
}
