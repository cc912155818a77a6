import type { ResendOrder } from '../core/contract/write-back.js';
import { type ChunkRow, isWritten, type RowReceipt } from './plan-file.js';

/** Of a row that `--reject` settles. */
const BY_HAND: RowReceipt = {
  ...{ outcome: 'rejected', status: null, id: null, byHand: true },
  message: 'settled by hand: it is not sent again',
};

/**
 * The rule that applies an order to the rows of a plan (docs/how-to/written-rows.md#send-rows-again). A row that was written is
 * never sent again, nor is a row that the input rejects. Rows that are not asked for keep their outcomes and are not sent.
 *
 * @param corrected the numbers of the rows that the order corrects
 */
export function resendRule(
  { rows, action }: ResendOrder,
  corrected: ReadonlySet<number>,
): (row: ChunkRow) => ChunkRow {
  const named = typeof rows === 'string' ? null : new Set(rows);
  const numbers = rows === 'corrected' ? corrected : named;
  const isAsked = (row: ChunkRow): boolean =>
    numbers === null ? hasOutcome(row, rows) : numbers.has(row.row);
  return (row) => {
    if (!mayBeSent(row)) return row;
    if (!isAsked(row)) return row.receipt === null ? { ...row, left: true } : row;
    const { receipt } = row;
    // What a user decides does not show whether the row was written.
    const sentAt = row.sentAt ?? receipt?.sentAt ?? null;
    if (action === 'reject')
      return { ...row, receipt: { ...BY_HAND, ...(sentAt !== null && { sentAt }) }, sentAt: null };
    const asked: ChunkRow = {
      ...row,
      receipt: null,
      sentAt,
      asked: true,
      ...(receipt && { stands: receipt }),
    };
    return action === 'new-key' ? withNextKey(asked) : asked;
  };
}

/** Whether a row has no outcome, or was rejected by the service or by hand. */
function mayBeSent({ verdict, receipt }: ChunkRow): boolean {
  return verdict === null && !isWritten(receipt) && (receipt === null || receipt.outcome === 'rejected');
}

function hasOutcome({ receipt, sentAt }: ChunkRow, outcome: ResendOrder['rows']): boolean {
  if (outcome === 'unknown') return receipt === null && sentAt !== null;
  return receipt?.outcome === 'rejected' && receipt.byHand !== true;
}

/**
 * Gives a row its next key. A key without an answer is kept: with another one, a repeated command could write the row twice.
 */
function withNextKey(row: ChunkRow): ChunkRow {
  const { keyNumber = 0, stands, said, sentAt } = row;
  const isAnswered =
    keyNumber === 0 || stands !== undefined || (sentAt !== null && said?.isComplete === true);
  const asked = isAnswered ? { ...row, keyNumber: keyNumber + 1 } : row;
  return said === undefined
    ? asked
    : { ...asked, said: { ...said, isComplete: !isAnswered && said.isComplete } };
}
