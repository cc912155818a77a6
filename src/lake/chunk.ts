import type { ByteString, ObjectKey, RunId, UtcSeconds } from '../core/brands.js';
import type { Cells } from '../core/cells.js';
import { RowScanner, writeRows } from './csv.js';
import { framingOf } from './part/framing.js';
import { BLOCK_BYTES, PartWriter } from './part/writer.js';
import { type CellRule, cellRule, type Profile } from './profile.js';
import { rowPrefix, type SortKey, sortKey } from './row.js';
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
  readonly isNewer: ((a: ByteString, b: ByteString) => boolean | null) | null;
}

/** What became of a buffer of fetched rows. */
export interface WrittenChunk {
  readonly chunk: StagedChunk;
  readonly duplicates: number;
}

/** A record that lacks its key, with its position in the page. */
export interface Keyless {
  readonly at: number;
  readonly cells: Cells;
}

/**
 * Fetched rows on their way to the staging folder, in the order of fetching. A page is written as CSV as soon as it comes:
 * its many small values are gone before the garbage collector has to carry them about.
 */
export class ChunkBuffer {
  readonly #profile: Profile;
  readonly #rules: CellRule[] = [];
  readonly keys: SortKey[] = [];
  /** The cells of each row as CSV, without metadata and without its LF. */
  readonly rows: ByteString[] = [];
  /** Number of cells of each row: columns that came later are missing at its end. */
  readonly widths: number[] = [];

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /**
   * Takes a page of records; returns those that lack their key and were left out (DESIGN 3.2).
   *
   * @param names the data columns by position
   */
  addPage(page: readonly Cells[], names: readonly string[]): Keyless[] {
    this.#prepareRules(names);
    const keyless: Keyless[] = [];
    const good: Cells[] = [];
    for (let at = 0; at < page.length; at++) {
      const cells = page[at]!;
      this.#applyRules(cells);
      const key = this.#keyOf(cells);
      if (key === null) {
        keyless.push({ at, cells });
        continue;
      }
      // All rows of a page have the header's length.
      cells.length = names.length;
      good.push(cells);
      this.keys.push(key);
      this.widths.push(names.length);
    }
    const text = writeRows(good, this.#profile.csv.delimiter);
    const scanner = new RowScanner(text);
    for (let at = 0; at < text.length; ) {
      const end = scanner.end(at);
      this.rows.push(text.slice(at, end - 1) as ByteString);
      at = end;
    }
    return keyless;
  }

  #keyOf(cells: Cells): SortKey | null {
    const { length } = this.#profile.key;
    const first = cells[0];
    if (first === null || first === undefined || first === '') return null;
    if (length === 1) return first as SortKey;
    const values: string[] = [];
    for (let at = 0; at < length; at++) {
      const value = cells[at];
      if (value === null || value === undefined || value === '') return null;
      values.push(value);
    }
    return sortKey(values);
  }

  #prepareRules(names: readonly string[]): void {
    for (let at = this.#rules.length; at < names.length; at++)
      this.#rules.push(cellRule(this.#profile, names[at]!));
  }

  #applyRules(cells: Cells): void {
    for (const [at, rule] of this.#rules.entries()) {
      if (rule === null) continue;
      const cell = cells[at];
      if (cell !== null && cell !== undefined) cells[at] = rule(cell);
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
  const rowAt = rowMaker(buffer, columns.length, options);
  const order = newestInOrder(buffer, rowAt, options.isNewer);
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
      let text = '';
      for (let at = from; at < to; at++) text += rowAt(order[at]!);
      await writer.append({
        text: text as ByteString,
        rows: to - from,
        first: buffer.keys[order[from]!]!,
        last: buffer.keys[order[to - 1]!]!,
      });
      blockRows = Math.max(1, Math.ceil(((to - from) * BLOCK_BYTES) / text.length));
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

/** Makes whole rows of today's header: metadata in front, empty cells at the end. */
function rowMaker(
  { rows, widths }: ChunkBuffer,
  columns: number,
  { profile, runId, syncedAt }: ChunkOptions,
): (at: number) => ByteString {
  const { delimiter } = profile.csv;
  const prefix = rowPrefix(runId, syncedAt, null, delimiter);
  return (at) => {
    const missing = columns - widths[at]!;
    const tail = missing === 0 ? '\n' : `${delimiter.repeat(missing)}\n`;
    return (prefix + rows[at]! + tail) as ByteString;
  };
}

/** Positions of the rows to keep, by key. Lists are mostly sorted already, which is noticed first. */
function newestInOrder(
  { keys }: ChunkBuffer,
  rowAt: (at: number) => ByteString,
  isNewer: ChunkOptions['isNewer'],
): number[] {
  const order = keys.map((_, at) => at);
  let ascending = true;
  for (let at = 1; at < keys.length && ascending; at++) ascending = keys[at - 1]! < keys[at]!;
  if (ascending) return order;
  order.sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));
  const kept: number[] = [];
  for (const at of order) {
    const before = kept.at(-1);
    if (before === undefined || keys[before] !== keys[at]) kept.push(at);
    else if (isNewer?.(rowAt(before), rowAt(at)) !== true) kept[kept.length - 1] = at;
  }
  return kept;
}
