import { type ByteString, toByteString } from '../core/brands.js';
import type { RowOutcome } from '../core/write-back-contract.js';
import { writeRows } from '../lake/csv.js';
import type { RowState } from './chunk-log.js';
import type { ChunkRow } from './plan-file.js';

/** Columns of `results.csv` (DESIGN 5). */
export const RESULT_COLUMNS = [
  'row',
  'key',
  'idempotency_key',
  'outcome',
  'http_status',
  'id',
  'message',
] as const;

/** What is to be said of a row. */
export interface RowResult {
  readonly outcome: RowOutcome;
  readonly status: number | null;
  readonly id: string | null;
  readonly message: string | null;
}

/** A row's outcome; `null` for one that was not sent. */
export function resultOf(row: ChunkRow, state: RowState | undefined): RowResult | null {
  const receipt = row.receipt ?? state?.receipt ?? null;
  if (receipt !== null) return receipt;
  if (row.verdict !== null) return { ...row.verdict, status: null, id: null };
  const sentAt = state?.sentAt ?? row.sentAt;
  if (sentAt === null) return null;
  const since = new Date(Math.min(sentAt, row.sentAt ?? sentAt)).toISOString();
  const last = state?.message ?? null;
  const message = `sent at ${since} or later, and it is not known what became of it${last === null ? '' : `: ${last}`}`;
  return { outcome: 'unknown', status: null, id: null, message };
}

/** The header of `results.csv`. */
export function resultsHeader(): ByteString {
  return `${RESULT_COLUMNS.join(',')}\n` as ByteString;
}

/** Lines of `results.csv`. */
export function resultLines(
  results: readonly { readonly row: ChunkRow; readonly result: RowResult }[],
): ByteString {
  const cells = results.map(({ row, result }) =>
    [
      String(row.row),
      row.key,
      row.idempotencyKey,
      result.outcome,
      result.status === null ? null : String(result.status),
      result.id,
      result.message,
    ].map((cell) => (cell === null ? null : toByteString(cell))),
  );
  return writeRows(cells, ',');
}
