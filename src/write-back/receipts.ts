import { type ByteString, fromByteString, type ObjectKey } from '../core/brands.js';
import { type RowOutcome, shownBatchId } from '../core/contract/write-back.js';
import { RowSplitter, readRow } from '../lake/rows/csv.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import type { ObjectStore } from '../lake/store/index.js';
import { InputError } from './input-error.js';
import { chunkKey, resultsKey, summaryKey } from './layout.js';
import { decodeChunk, type PlanFile } from './plan-file.js';
import { decodeSealed } from './sealed.js';
import type { Summary } from './written.js';

/** A line of `results.csv`, and the row's line in the input. */
export interface Receipt {
  /** Number of the row in the input, from 1. */
  readonly row: number;
  /** First line of the row in the input, from 1; `null` if the state of the batch was removed. */
  readonly line: number | null;
  readonly key: string;
  readonly idempotencyKey: string;
  readonly outcome: RowOutcome;
  readonly httpStatus: number | null;
  readonly id: string | null;
  readonly message: string | null;
}

interface ReadReceiptsOptions {
  /** Outcomes to read; default: all. */
  readonly outcomes?: readonly RowOutcome[] | undefined;
  /** Whether `results.csv` was written with `csv.escapeFormulas`. */
  readonly escapeFormulas: boolean;
}

/** Outcomes of rows that were not written. */
export const NOT_WRITTEN: readonly RowOutcome[] = ['rejected', 'unknown'];

/**
 * Reads the receipts of a batch in the order of its input. A caller that stops early reads little more than it uses.
 *
 * @throws InputError if the batch has no receipts yet; StoreError
 */
export async function* readReceipts(
  store: ObjectStore,
  batchId: string,
  { outcomes, escapeFormulas }: ReadReceiptsOptions,
): AsyncGenerator<Receipt> {
  const key = resultsKey(batchId);
  if ((await store.head(key)) === null)
    throw new InputError(
      `batch ${shownBatchId(batchId)} has no receipts yet`,
      null,
      'Receipts are written when the batch ends. To follow it, run its write-back command again.',
    );
  const lines = await RowLines.open(store, batchId);
  const decode = cellDecoder({ lineBreaks: 'keep', escapeFormulas });
  const text = (cell: ByteString | null | undefined): string | null =>
    cell == null ? null : fromByteString(decode === null ? cell : decode(cell));
  for await (const cells of resultRows(store, key)) {
    const [row, rowKey, idempotencyKey, outcome, status, id, message] = cells.map(text);
    if (outcomes !== undefined && !outcomes.includes(outcome as RowOutcome)) continue;
    yield {
      row: Number(row),
      line: await lines.lineOf(Number(row)),
      key: rowKey ?? '',
      idempotencyKey: idempotencyKey ?? '',
      outcome: outcome as RowOutcome,
      httpStatus: status == null ? null : Number(status),
      id: id ?? null,
      message: message ?? null,
    };
  }
}

/** The rows of `results.csv`, without its header. */
async function* resultRows(
  store: ObjectStore,
  key: ObjectKey,
): AsyncGenerator<readonly (ByteString | null)[]> {
  const rows = new RowSplitter();
  let isHeader = true;
  for await (const chunk of store.stream(key)) {
    for (const row of rows.push(Buffer.from(chunk).toString('latin1'))) {
      if (!isHeader) yield readRow(row, ',');
      isHeader = false;
    }
  }
}

/** Finds the line of a row in the batch's last plan. Rows are asked for in order, so one chunk is held in memory. */
class RowLines {
  readonly #store: ObjectStore;
  readonly #plan: { readonly key: ObjectKey; readonly file: PlanFile } | null;
  #chunk = -1;
  /** Number of the first row after the chunk. */
  #end = 1;
  #lines: ReadonlyMap<number, number> = new Map();

  private constructor(store: ObjectStore, plan: { key: ObjectKey; file: PlanFile } | null) {
    this.#store = store;
    this.#plan = plan;
  }

  static async open(store: ObjectStore, batchId: string): Promise<RowLines> {
    const key = summaryKey(batchId);
    const summary = await store.readIfExists(key);
    if (summary === null) return new RowLines(store, null);
    const { plan } = decodeSealed<Summary>(key, summary.body);
    const found = await store.readIfExists(plan);
    return new RowLines(store, found && { key: plan, file: decodeSealed<PlanFile>(plan, found.body) });
  }

  async lineOf(row: number): Promise<number | null> {
    if (this.#plan === null) return null;
    const { key, file } = this.#plan;
    const before = this.#chunk;
    while (row >= this.#end && this.#chunk + 1 < file.chunks.length) this.#end += file.chunks[++this.#chunk]!;
    if (this.#chunk !== before) {
      const at = chunkKey(key, file.writer, this.#chunk);
      const found = await this.#store.readIfExists(at);
      const rows = found === null ? [] : decodeChunk(at, found.body, file.chunks[this.#chunk]!);
      this.#lines = new Map(rows.map((one) => [one.row, one.line]));
    }
    return this.#lines.get(row) ?? null;
  }
}
