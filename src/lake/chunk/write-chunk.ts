import type { ByteString, ObjectKey } from '../../core/brands.js';
import { folderOf, inFolder, nameOf } from '../documents/lake-layout.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { StagedChunk } from '../documents/stage-file.js';
import { framingOfChunk } from '../part/framing.js';
import { BLOCK_BYTES, PartWriter, type RowRun } from '../part/part-writer.js';
import { type Column, headerRow } from '../rows/data-columns.js';
import { newestOf, type VersionRules } from '../rows/newer.js';
import type { Profile } from '../rows/profile.js';
import { areTwins, twinOf } from '../rows/twin.js';
import type { ObjectStore } from '../store/index.js';
import type { RowBuffer } from './row-buffer.js';
import type { SortedRows } from './sort-rows.js';

interface ChunkOptions extends Pick<VersionRules, 'isNewer'>, Partial<Pick<VersionRules, 'hasTombstones'>> {
  readonly profile: Profile;
  readonly signal?: AbortSignal | undefined;
}

/** The staged chunk, and the number of rows that a newer row of the same key replaced. */
interface WrittenChunk {
  readonly chunk: StagedChunk;
  /** Chunks of replaced rows that differ from the row of their key: at most one row of each key. The key may not be unique. */
  readonly twins: readonly StagedChunk[];
  readonly duplicates: number;
}

/** Keeps the newest row of each key, and stages them as one part, in the order of their keys. */
export async function writeChunk(
  store: ObjectStore,
  key: ObjectKey,
  sorted: SortedRows,
  columns: readonly Column[],
  { profile, signal, isNewer, hasTombstones = false }: ChunkOptions,
): Promise<WrittenChunk> {
  const { buffer } = sorted;
  const { delimiter } = profile.csv;
  const rows = new PaddedRows(buffer, columns.length, delimiter);
  const { order, twins } = newestInOrder(sorted, rows, { isNewer, hasTombstones, delimiter });
  const write = (to: ObjectKey, positions: Positions): Promise<StagedChunk> =>
    writeRows(store, to, { buffer, rows, order: positions, columns, profile, signal });
  const chunk = await write(key, order);
  const written: StagedChunk[] = [];
  for (const isProof of [false, true]) {
    const own = twins.filter((twin) => twin.isProof === isProof).map(({ at }) => at);
    if (own.length === 0) continue;
    const name = `${isProof ? 'proof' : 'twin'}-${nameOf(key)}`;
    const twin = await write(inFolder(folderOf(key), name), own);
    written.push({ ...twin, isTwin: true, ...(isProof && { isProof }) });
  }
  return { chunk, twins: written, duplicates: buffer.rows - order.length };
}

interface RowsToWrite extends Pick<ChunkOptions, 'profile' | 'signal'> {
  readonly buffer: RowBuffer;
  readonly rows: PaddedRows;
  readonly order: Positions;
  readonly columns: readonly Column[];
}

/** Stages rows in the order of their keys as one part. */
async function writeRows(
  store: ObjectStore,
  key: ObjectKey,
  { buffer, rows, order, columns, profile, signal }: RowsToWrite,
): Promise<StagedChunk> {
  const writer = new PartWriter(store, key, {
    framing: framingOfChunk(key),
    header: headerRow(columns, profile.csv),
    columns: columns.length,
    signal,
    rowBytes: bytesOf(rows, order),
  });
  try {
    for (let from = 0; from < order.length; ) {
      let bytes = 0;
      let to = from;
      while (to < order.length && bytes < BLOCK_BYTES) bytes += rows.size(order[to++]!);
      await writer.append({
        text: rows.gather(order, from, to, bytes),
        rows: to - from,
        first: buffer.key(order[from]!),
        last: buffer.key(order[to - 1]!),
      });
      from = to;
    }
    return toChunk(await writer.finish(), columns.length);
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

function bytesOf(rows: PaddedRows, order: Positions): number {
  let bytes = 0;
  for (let at = 0; at < order.length; at++) bytes += rows.size(order[at]!);
  return bytes;
}

/** The staged chunk of a part that has rows and an index. @param columns number of data columns in its header */
export function toChunk(
  { key, rows, bytes, rawBytes, first, last, indexCrc32 }: PublishedPart,
  columns: number,
): StagedChunk {
  return {
    ...{ key, rows, bytes, rawBytes, first: first!, last: last!, columns, indexCrc32: indexCrc32! },
  };
}

/** Positions of rows in a buffer. */
type Positions = ArrayLike<number>;

/** Rows of a buffer, padded with empty cells to the current header: columns can be added while rows are buffered. */
class PaddedRows {
  /** Tombstones with the values of an older row, by position. */
  readonly #filled = new Map<number, ByteString>();

  constructor(
    private readonly buffer: RowBuffer,
    private readonly columns: number,
    private readonly delimiter: string,
  ) {}

  fill(at: number, row: ByteString): void {
    this.#filled.set(at, row);
  }

  /** Length of a row in bytes, including the added cells. */
  size(at: number): number {
    const filled = this.#filled.get(at);
    if (filled !== undefined) return filled.length;
    return this.buffer.offset(at + 1) - this.buffer.offset(at) + this.#missing(at);
  }

  text(at: number): ByteString {
    return this.#filled.get(at) ?? ((this.buffer.row(at).slice(0, -1) + this.#tail(at)) as ByteString);
  }

  /** The text of the rows `order[from]` to `order[to - 1]`. If they are adjacent and complete, the text is not copied. */
  gather(order: Positions, from: number, to: number, bytes: number): RowRun['text'] {
    const first = order[from]!;
    if (this.#endOfAdjacent(order, from, to) === to) return this.buffer.bytes(first, first + to - from);
    return { bytes, fill: (into: Buffer): void => this.#fill(order, from, to, into) };
  }

  #fill(order: Positions, from: number, to: number, into: Buffer): void {
    let filled = 0;
    for (let at = from; at < to; ) {
      const end = this.#endOfAdjacent(order, at, to);
      const row = order[at]!;
      if (end > at) {
        filled += this.buffer.copy(row, row + end - at, into, filled);
        at = end;
      } else {
        filled += into.write(this.text(row), filled, 'latin1');
        at++;
      }
    }
  }

  /** End of the adjacent, complete rows that start at `at`; `at` itself if that row has missing cells. */
  #endOfAdjacent(order: Positions, at: number, to: number): number {
    let end = at;
    while (end < to && order[end] === order[at]! + end - at && this.#isComplete(order[end]!)) end++;
    return end;
  }

  #isComplete(at: number): boolean {
    return this.#missing(at) === 0 && !this.#filled.has(at);
  }

  #missing(at: number): number {
    return this.columns - this.buffer.width(at);
  }

  #tail(at: number): string {
    return `${this.delimiter.repeat(this.#missing(at))}\n`;
  }
}

/** A replaced row that differs from the row of its key, and whether one page had different rows of the key. */
interface Twin {
  readonly at: number;
  readonly isProof: boolean;
}

/** Positions of the rows to keep, sorted by key, and those of the replaced rows that differ. */
function newestInOrder(
  { buffer, order, isSame }: SortedRows,
  rows: PaddedRows,
  rules: VersionRules,
): { readonly order: Positions; readonly twins: readonly Twin[] } {
  const twins: Twin[] = [];
  if (buffer.ascending) return { order, twins };
  const kept = new Uint32Array(order.length);
  let keys = 0;
  let last = 0;
  for (const at of order) {
    const before = kept[keys - 1];
    if (before === undefined || !isSame(before, at)) kept[keys++] = at;
    else {
      const known = twins.length > 0 && isSame(twins.at(-1)!.at, at) ? twins.pop()! : null;
      // On a page with different rows of a key, two in turn differ.
      const isProof = buffer.areOnePage(last, at) && areTwins(rows.text(last), rows.text(at));
      const winner = newerAt(before, at, rows, rules);
      kept[keys - 1] = winner;
      const replaced = [...(known === null ? [] : [known.at]), winner === at ? before : at];
      const twin = twinOf(
        rows.text(winner),
        replaced.map((one) => rows.text(one)),
      );
      if (twin !== null) twins.push({ at: replaced[twin]!, isProof: isProof || known?.isProof === true });
    }
    last = at;
  }
  return { order: kept.subarray(0, keys), twins };
}

/** The position of the newer of two rows of a key, which gets the values that it takes over. */
function newerAt(first: number, then: number, rows: PaddedRows, rules: VersionRules): number {
  if (rules.isNewer === null && !rules.hasTombstones) return then;
  const [before, after] = [rows.text(first), rows.text(then)];
  const newest = newestOf(before, after, rules);
  if (newest === before) return first;
  if (newest !== after) rows.fill(then, newest);
  return then;
}

/** The first and the last key of some rows. */
type KeySpan = Pick<StagedChunk, 'first' | 'last'>;

/**
 * Whether the key range of some rows overlaps no earlier chunk, as in a list in descending or ascending order of the key. One
 * foreign row between the rows of a block keeps a merge from copying the block, so a small overlap counts.
 */
export function isApart(span: KeySpan, chunks: readonly KeySpan[]): boolean {
  return chunks.every(({ first, last }) => last < span.first || span.last < first);
}
