import type { ObjectStore } from '../../src/lake/store/index.js';
import { type LogIndex, readLogIndex } from '../../src/write-back/chunk-logs.js';
import { HashTable } from '../../src/write-back/hash-table.js';
import { textHash } from '../../src/write-back/idempotency-key.js';
import {
  type ChunkRow,
  isWritten,
  knownOf,
  type RowState,
  standingOf,
} from '../../src/write-back/plan-file.js';
import type { PlannedRow } from '../../src/write-back/planner.js';
import { type LoadedChunk, loadChunk, loadChunks, type StoredPlan } from './stored-batch.js';

/** The result of a row in earlier plans of its batch. */
type EarlierRow = Pick<ChunkRow, 'content' | 'receipt' | 'sentAt' | 'keyNumber' | 'said' | 'before'> & {
  /** What the comparison with the published snapshot has decided. */
  readonly unchanged?: Pick<ChunkRow, 'verdict' | 'unchanged'>;
};

/** Number of cached chunks. A few are enough, because the rows of two inputs are mostly in the same order. */
const CACHED_CHUNKS = 8;

/** The rows of earlier plans by key. Holds the position of each row in memory (about 35 bytes), and a few chunks. */
export class EarlierRows {
  readonly #store: ObjectStore;
  readonly #chunks: { readonly plan: StoredPlan; readonly logs: LogIndex; readonly number: number }[] = [];
  readonly #positions: HashTable;
  readonly #cache = new Map<number, LoadedChunk>();

  private constructor(store: ObjectStore, rows: number) {
    this.#store = store;
    this.#positions = HashTable.sized(2, rows);
  }

  static async read(
    store: ObjectStore,
    plans: readonly StoredPlan[],
    signal: AbortSignal,
  ): Promise<EarlierRows> {
    // The plans of a batch mostly have the same rows, so the largest one gives the size.
    const known = new EarlierRows(store, Math.max(...plans.map(({ file }) => file.rows)));
    for (const plan of plans) {
      const logs = await readLogIndex(store, plan.key);
      for await (const { number, rows } of loadChunks(store, plan, new Map())) {
        signal.throwIfAborted();
        known.#chunks.push({ plan, logs, number });
        for (const [index, row] of rows.entries()) known.#index(row, known.#chunks.length, index);
      }
    }
    return known;
  }

  /** Finds a row by its key; `null` for a new row. */
  async find(key: string): Promise<EarlierRow | null> {
    const entry = this.#positions.find(textHash(key));
    if (entry === -1) return null;
    const { rows, states } = await this.#chunk(this.#positions.get(entry, 0) - 1);
    const at = this.#positions.get(entry, 1);
    return earlierRow(rows[at]!, states.get(at));
  }

  /** The newest plan wins, but a row that it does not send must not hide the row of an earlier plan that may have been sent. */
  #index(row: ChunkRow, chunk: number, at: number): void {
    const hash = textHash(row.key);
    if (row.verdict !== null && row.unchanged !== true && this.#positions.find(hash) !== -1) return;
    const entry = this.#positions.entry(hash);
    this.#positions.set(entry, 0, chunk);
    this.#positions.set(entry, 1, at);
  }

  async #chunk(at: number): Promise<LoadedChunk> {
    const cached = this.#cache.get(at);
    if (cached !== undefined) return cached;
    const { plan, number, logs } = this.#chunks[at]!;
    const loaded = await loadChunk(this.#store, plan, number, logs);
    if (this.#cache.size >= CACHED_CHUNKS) this.#cache.delete(this.#cache.keys().next().value!);
    this.#cache.set(at, loaded);
    return loaded;
  }
}

function earlierRow(row: ChunkRow, state: RowState | undefined): EarlierRow {
  const { content, keyNumber, verdict, unchanged } = row;
  const key = keyNumber === undefined ? {} : { keyNumber };
  if (unchanged === true)
    return { content, receipt: null, sentAt: null, ...key, unchanged: { verdict, unchanged } };
  const { receipt: settled, sentAt } = knownOf(row, state);
  const receipt = settled ?? standingOf(row, state);
  // Of a row that was not written, the record is read again before it is sent. One that a user has settled may have been written.
  const isSent = isWritten(receipt) || sentAt !== null || receipt?.byHand === true;
  const kept = isSent && row.before !== undefined ? { ...key, before: row.before } : key;
  if (receipt !== null || sentAt === null) return { content, receipt, sentAt: null, ...kept };
  const { status, message } = (state?.message == null ? row.said : state) ?? { status: null, message: null };
  const isComplete = (state?.unclearIn.length ?? 0) > 0 || row.said?.isComplete === true;
  return { content, receipt, sentAt, ...kept, said: { status, message, isComplete } };
}

/**
 * Adds the result of earlier plans to a row of a new plan. A row with a known outcome is not sent again.
 *
 * @param asked whether a user has given the row another content, and whether the plan sends only rows that a user asks for: those
 *   that were unchanged stay so, because they are not compared again
 */
export async function withEarlierOutcome(
  row: PlannedRow,
  known: EarlierRows,
  { isCorrected, isResent }: { readonly isCorrected: boolean; readonly isResent: boolean },
): Promise<ChunkRow> {
  const fresh: ChunkRow = { ...row, receipt: null, sentAt: null };
  // Duplicates within the input get the outcome `skipped`.
  if (row.verdict !== null && row.verdict.outcome !== 'superseded') return fresh;
  const before = await known.find(row.key);
  if (before === null) return fresh;
  const { content, receipt, sentAt, unchanged, ...more } = before;
  if (receipt === null && sentAt === null) {
    const isKept = isResent && row.verdict === null && content === row.content;
    return { ...fresh, ...more, ...(isKept ? unchanged : {}) };
  }
  if (content !== row.content) {
    if (isCorrected) return corrected(fresh, before);
    const message = 'not sent: this batch has already sent a row with the same key and different content';
    return { ...fresh, verdict: { outcome: 'rejected', message } };
  }
  // A written row keeps its receipt, even if a later row of the new input supersedes it. Then its record has the later row's values.
  if (receipt !== null) {
    const body = row.verdict === null ? row.body : '{}';
    return { ...fresh, ...more, body, verdict: null, receipt };
  }
  return { ...fresh, ...more, sentAt };
}

/** Only a rejected row takes another content. The service may know its key with the rejected one, so it gets the next key. */
function corrected(row: ChunkRow, earlier: EarlierRow): ChunkRow {
  const { content, receipt, sentAt, keyNumber = 0, said, before } = earlier;
  if (receipt?.outcome === 'rejected')
    return { ...row, ...(before && { before }), receipt, keyNumber: keyNumber + 1 };
  return { ...row, body: '{}', content, receipt, sentAt, keyNumber, ...(said && { said }), left: true };
}
