import { type ByteString, toByteString } from '../core/brands.js';
import type { RowOutcome } from '../core/contract/write-back.js';
import { escapeFormula } from '../lake/rows/escaping.js';
import { peopleCsv } from '../lake/rows/people-csv.js';
import type { RowState } from './chunk-log.js';
import type { TurnVerdict } from './ledger/turn.js';
import type { ChunkRow } from './plan-file.js';

/** Columns of `results.csv` (docs/reference/lake.md). */
const RESULT_COLUMNS = ['row', 'key', 'idempotency_key', 'outcome', 'http_status', 'id', 'message'] as const;

/** The outcome of a row for `results.csv`. */
interface RowResult {
  readonly outcome: RowOutcome;
  readonly status: number | null;
  readonly id: string | null;
  readonly message: string | null;
}

/**
 * The outcome of a row; `null` if it was not sent.
 *
 * @param found why the row is not sent in this turn of the batch; `null` if it may be
 */
export function resultOf(
  row: ChunkRow,
  state: RowState | undefined,
  found: TurnVerdict | null = null,
): RowResult | null {
  const receipt = row.receipt ?? state?.receipt ?? null;
  if (receipt !== null) return receipt;
  if (row.verdict !== null) return { ...row.verdict, status: null, id: null };
  if (found !== null) return { ...found, status: null, id: null };
  const sentAt = state?.sentAt ?? row.sentAt;
  if (sentAt === null) return null;
  const since = new Date(Math.min(sentAt, row.sentAt ?? sentAt)).toISOString();
  const last = state?.message ?? null;
  const message = `sent at ${since} or later; the outcome is unknown${last === null ? '' : `: ${last}`}`;
  return { outcome: 'unknown', status: state?.status ?? null, id: null, message };
}

/** The header of `results.csv`. */
export function resultsHeader(): ByteString {
  return peopleCsv([RESULT_COLUMNS.map(toByteString)]);
}

interface ResultLineOptions {
  /** `csv.escapeFormulas`: users open receipts in spreadsheets. No program reads them, so keys are escaped too. */
  readonly escapeFormulas: boolean;
}

/** Lines of `results.csv`. */
export function resultLines(
  results: readonly { readonly row: ChunkRow; readonly result: RowResult }[],
  { escapeFormulas }: ResultLineOptions,
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
    ].map((cell) => {
      if (cell === null) return null;
      return escapeFormulas ? escapeFormula(toByteString(cell)) : toByteString(cell);
    }),
  );
  return peopleCsv(cells);
}
