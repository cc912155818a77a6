import type { ByteString, ObjectKey } from '../../core/brands.js';
import { decodeIndex } from '../documents/block-index.js';
import type { Manifest, PublishedPart } from '../documents/manifest.js';
import { type Framing, framingOf } from '../part/framing.js';
import { readPartRows } from '../part/part-rows.js';
import { readIndexBody, readPartIndex } from '../part/read-index.js';
import { BlockReader } from '../part/reader.js';
import { RowScanner } from '../rows/csv.js';
import { isTombstone, payloadAt, rowKey, type SortKey } from '../rows/row.js';
import type { ObjectStore } from '../store/index.js';

/** Parts of a snapshot, or staged chunks, whose rows are looked up by key. */
export interface IndexedRows {
  /** Newest first: of a key in several parts, the row of the first one is found. */
  readonly parts: readonly Pick<PublishedPart, 'key' | 'first' | 'last' | 'indexCrc32'>[];
  readonly framing: (part: ObjectKey) => Framing;
  readonly keyColumns: number;
  readonly delimiter: string;
}

/** Parts and blocks that one look-up reads at most. Those with the most keys are read first. */
const PARTS_READ = 8;
const BLOCKS_READ = 32;

/**
 * Looks up the live rows with these keys. It is for a sample: a look-up of many keys that are far apart reads only some of them,
 * and a part whose block index is missing or damaged counts as having none.
 */
export async function findRows(
  store: ObjectStore,
  { parts, framing, keyColumns, delimiter }: IndexedRows,
  keys: readonly SortKey[],
  signal: AbortSignal,
): Promise<Map<SortKey, ByteString>> {
  const found = new Map<SortKey, ByteString>();
  let left = BLOCKS_READ;
  for (const { item: part, keys: inPart } of byMostKeys(parts, keys, PARTS_READ)) {
    const body = await readIndexBody(store, part, signal);
    if (typeof body === 'string') continue;
    const { blocks } = decodeIndex(body, part.key);
    const wanted = new Set(inPart);
    const chosen = byMostKeys(blocks, inPart, left).map(({ item }) => blocks.indexOf(item));
    left -= chosen.length;
    const reader = new BlockReader(store, { key: part.key, blocks, framing: framing(part.key) }, { signal });
    for (const at of chosen.sort((a, b) => a - b)) {
      const text = await reader.rows(at);
      const scanner = new RowScanner(text);
      for (let from = 0, end = 0; from < text.length; from = end) {
        end = scanner.end(from);
        const key = rowKey(text, payloadAt(text, from), keyColumns, delimiter);
        if (!wanted.has(key) || found.has(key) || isTombstone(text, from)) continue;
        found.set(key, text.slice(from, end) as ByteString);
      }
    }
    if (left <= 0) break;
  }
  return found;
}

/** The ranges that hold the most of the keys, at most `most` of them. Ranges with equally many stay in their order. */
function byMostKeys<T extends { readonly first: SortKey | null; readonly last: SortKey | null }>(
  ranges: readonly T[],
  keys: readonly SortKey[],
  most: number,
): { readonly item: T; readonly keys: SortKey[] }[] {
  return ranges
    .map((item) => ({ item, keys: keys.filter((key) => isIn(item, key)) }))
    .filter((one) => one.keys.length > 0)
    .sort((a, b) => b.keys.length - a.keys.length)
    .slice(0, most);
}

function isIn(
  { first, last }: { readonly first: SortKey | null; readonly last: SortKey | null },
  key: SortKey,
): boolean {
  return first !== null && last !== null && first <= key && key <= last;
}

/**
 * Looks up every row with one of these keys, tombstones too. A part without a block index, and one whose blocks mostly have a key,
 * is read as a whole.
 *
 * @returns the rows by key, each with its LF, in memory
 * @throws DamagedError, StoreError
 */
export async function lookUpRows(
  store: ObjectStore,
  { parts, key: fields, csv }: Pick<Manifest, 'parts' | 'key' | 'csv'>,
  keys: ReadonlySet<SortKey>,
  signal: AbortSignal,
): Promise<Map<SortKey, ByteString>> {
  const sorted = [...keys].sort();
  const found = new Map<SortKey, ByteString>();
  const take = (row: ByteString): void => {
    const key = rowKey(row, payloadAt(row), fields.length, csv.delimiter);
    // In V8 a slice keeps its whole parent string in memory.
    if (keys.has(key)) found.set(key, Buffer.from(row, 'latin1').toString('latin1') as ByteString);
  };
  for (const part of parts) {
    if (!hasOneIn(sorted, part)) continue;
    const blocks = (await readPartIndex(store, part, signal))?.blocks ?? [];
    const chosen = [...blocks.keys()].filter((at) => hasOneIn(sorted, blocks[at]!));
    if (2 * chosen.length > blocks.length || blocks.length === 0) {
      for await (const rows of readPartRows(store, part, { compression: csv.compression, signal }))
        for (const row of rows) take(row);
      continue;
    }
    const reader = new BlockReader(store, { key: part.key, blocks, framing: framingOf(csv) }, { signal });
    for (const at of chosen) for (const row of rowsOfText(await reader.rows(at))) take(row);
  }
  return found;
}

function* rowsOfText(text: string): Generator<ByteString> {
  const scanner = new RowScanner(text);
  for (let from = 0, end = 0; from < text.length; from = end) {
    end = scanner.end(from);
    yield text.slice(from, end) as ByteString;
  }
}

/** Whether one of the sorted keys is in a range. */
function hasOneIn(
  sorted: readonly SortKey[],
  { first, last }: { readonly first: SortKey | null; readonly last: SortKey | null },
): boolean {
  if (first === null || last === null) return false;
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < first) low = middle + 1;
    else high = middle;
  }
  return low < sorted.length && sorted[low]! <= last;
}
