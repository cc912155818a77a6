import type { ByteString, ObjectKey, RunId, UtcSeconds } from '../core/brands.js';
import type { Cells } from '../core/cells.js';
import { type Cell, writeRows } from './csv.js';
import { framingOf } from './part/framing.js';
import { BLOCK_BYTES, PartWriter } from './part/writer.js';
import { type CellRule, cellRule, type Profile } from './profile.js';
import { type SortKey, sortKey } from './row.js';
import { type Column, headerCells } from './schema.js';
import type { StagedChunk } from './stage.js';
import type { ObjectStore } from './store/index.js';

/** Rows in the first block of a chunk; the following ones go by the size that the rows turned out to have. */
const FIRST_BLOCK_ROWS = 128;

export interface ChunkOptions {
  readonly profile: Profile;
  readonly runId: RunId;
  readonly syncedAt: UtcSeconds;
  readonly signal?: AbortSignal | undefined;
  /** Whether the first row is newer than the second by a field of their own; `null`: they do not say. */
  readonly isNewer: ((a: Cells, b: Cells) => boolean | null) | null;
}

/** What became of a buffer of fetched rows. */
export interface WrittenChunk {
  readonly chunk: StagedChunk;
  readonly duplicates: number;
}

/** Fetched rows on their way to the staging folder, in the order of fetching. */
export class ChunkBuffer {
  readonly #keyColumns: number;
  readonly #rules = new Map<number, CellRule>();
  readonly keys: SortKey[] = [];
  readonly rows: Cells[] = [];

  constructor(private readonly profile: Profile) {
    this.#keyColumns = profile.key.length;
  }

  /** Takes a row, or returns false when it lacks its key (DESIGN 3.2). @param names the data columns by position */
  add(cells: Cells, names: readonly string[]): boolean {
    this.#applyRules(cells, names);
    const values: string[] = [];
    for (let at = 0; at < this.#keyColumns; at++) {
      const value = cells[at];
      if (value === null || value === undefined || value === '') return false;
      values.push(value);
    }
    this.keys.push(sortKey(values));
    this.rows.push(cells);
    return true;
  }

  #applyRules(cells: Cells, names: readonly string[]): void {
    for (let at = this.#rules.size; at < names.length; at++)
      this.#rules.set(at, cellRule(this.profile, names[at]!));
    for (let at = 0; at < cells.length; at++) {
      const rule = this.#rules.get(at);
      const cell = cells[at];
      if (rule && cell !== null && cell !== undefined) cells[at] = rule(cell);
    }
  }
}

/** Sorts the rows, drops all but the newest of each key, and stages them as one part. */
export async function writeChunk(
  store: ObjectStore,
  key: ObjectKey,
  buffer: ChunkBuffer,
  columns: readonly Column[],
  options: ChunkOptions,
): Promise<WrittenChunk> {
  const { profile, signal } = options;
  const { delimiter } = profile.csv;
  const order = newestInOrder(buffer, options.isNewer);
  const writer = new PartWriter(store, key, {
    framing: framingOf(profile.csv),
    header: writeRows([headerCells(columns)], delimiter),
    columns: columns.length,
    signal,
  });
  try {
    let blockRows = FIRST_BLOCK_ROWS;
    for (let from = 0; from < order.length; ) {
      const to = Math.min(from + blockRows, order.length);
      const rows = order.slice(from, to).map((at) => withMeta(buffer.rows[at]!, columns.length, options));
      const text = writeRows(rows, delimiter);
      await writer.append({
        text,
        rows: rows.length,
        first: buffer.keys[order[from]!]!,
        last: buffer.keys[order[to - 1]!]!,
      });
      blockRows = Math.max(1, Math.ceil((rows.length * BLOCK_BYTES) / text.length));
      from = to;
    }
    const { rows, bytes, rawBytes, first, last } = await writer.finish();
    const chunk = { key, rows, bytes, rawBytes, first: first!, last: last!, columns: columns.length };
    return { chunk, duplicates: buffer.rows.length - order.length };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

function withMeta(cells: Cells, width: number, { runId, syncedAt }: ChunkOptions): Cell[] {
  const row: Cell[] = new Array(width + 3);
  row[0] = runId as string as ByteString;
  row[1] = syncedAt as string as ByteString;
  row[2] = null;
  for (let at = 0; at < width; at++) row[at + 3] = cells[at];
  return row;
}

/** Positions of the rows to keep, by key. Lists are mostly sorted already, which is noticed first. */
function newestInOrder({ keys, rows }: ChunkBuffer, isNewer: ChunkOptions['isNewer']): number[] {
  const order = keys.map((_, at) => at);
  let ascending = true;
  for (let at = 1; at < keys.length && ascending; at++) ascending = keys[at - 1]! < keys[at]!;
  if (ascending) return order;
  order.sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));
  const kept: number[] = [];
  for (const at of order) {
    const before = kept.at(-1);
    if (before === undefined || keys[before] !== keys[at]) kept.push(at);
    else if (isNewer?.(rows[before]!, rows[at]!) !== true) kept[kept.length - 1] = at;
  }
  return kept;
}
