import type { ByteString } from '../../core/brands.js';
import type { ShiftSigns } from '../../core/contract/index.js';
import type { RowObserver } from '../checks/row-meter.js';
import type { Block } from '../documents/block-index.js';
import { blockBytes, type PackedBlocks } from '../part/framing.js';
import { RowScanner } from '../rows/csv.js';
import type { SortKey } from '../rows/row.js';
import { type MergeCounts, zeroCounts } from './counts.js';
import { SourceHeap } from './heap.js';
import { byKey, lowerBound } from './keys.js';
import { insert, type KeyMerge, resolveAbsent, resolveFetched } from './one-key.js';
import type { MergeSource } from './source.js';

export { addCounts, type MergeCounts, zeroCounts } from './counts.js';

interface MergeOptions extends KeyMerge {
  /** At most one has age 0, the base snapshot. The others are staged chunks. */
  readonly sources: readonly MergeSource[];
  /** The merge adds to these counts what the keys show about the last reading of the list. */
  readonly signs?: Tally | undefined;
  /** Called after each block or run of rows. It may throw to stop the merge. */
  readonly onProgress?: ((counts: MergeCounts) => void) | undefined;
}

/** Mutable counts of the signs that a list shifted while it was read. */
export type Tally = { -readonly [Name in keyof ShiftSigns]: number };

/**
 * Merges the fetched rows into the base snapshot by key; the newest row wins (docs/explanation/guarantees.md#newest-wins).
 * A block whose key range overlaps no other source is copied in compressed form, together with its neighbors. Other
 * rows are compared as text, without parsing their cells. Memory is bounded by the buffers of the sources' readers.
 */
export async function mergeRows(options: MergeOptions): Promise<MergeCounts> {
  const counts = zeroCounts();
  const heap = await SourceHeap.start(options.sources);
  const gone = [...options.gone].sort(byKey);
  for (let top = heap.top; top !== undefined; top = heap.top) {
    const limit = heap.second?.key ?? null;
    const mayMove = (block: Block): boolean =>
      (limit === null || block.last < limit) && !(top.age === 0 && containsAny(block, gone));
    const block = top.wholeBlock;
    if (block !== null && mayMove(block)) {
      const taken = await top.takeBlocks(mayMove);
      const rows = taken.blocks.reduce((sum, one) => sum + one.rows, 0);
      counts.rows += rows;
      await options.snapshot.take(taken);
      if (top.age === 0) {
        counts.retained += rows;
      } else {
        counts.fetched += rows;
        counts.inserted += rows;
        if (top.isLast && options.signs) options.signs.found += rows;
        if (options.observer) await observeBlocks(options.observer, taken);
        await options.changes?.take(taken);
      }
      heap.updateTop();
    } else {
      // Interleaved sources take this path for every row, so it awaits only what is not there yet.
      if (!top.isOpen) await top.open();
      if (limit !== null && top.key! >= limit) await mergeEqual(options, counts, heap);
      else if (!mergeRun(options, counts, top, limit)) await top.nextBlock();
      if (mustFlush(options)) await flush(options);
      heap.updateTop();
    }
    options.onProgress?.(counts);
  }
  return counts;
}

/** Blocks of fetched rows are copied as they are, but an observer sees each of their rows. */
async function observeBlocks(observer: RowObserver, taken: PackedBlocks): Promise<void> {
  for (const block of taken.blocks) {
    const raw = await taken.framing.unpack(blockBytes(taken, block), block.rawBytes);
    const text = raw.toString('latin1');
    const rows = new RowScanner(text);
    for (let at = 0; at < text.length; ) {
      const end = rows.end(at);
      const row = text.slice(at, end) as ByteString;
      observer.changed(null, row);
      observer.fetched(row);
      at = end;
    }
  }
}

function mustFlush({ snapshot, changes }: MergeOptions): boolean {
  return snapshot.mustFlush || changes?.mustFlush === true;
}

async function flush({ snapshot, changes }: MergeOptions): Promise<void> {
  await snapshot.flush();
  await changes?.flush();
}

/** Whether a block's key range contains one of the sorted keys. Such a block must be opened. */
function containsAny({ first, last }: Block, sorted: readonly SortKey[]): boolean {
  const at = lowerBound(sorted, first);
  return at < sorted.length && sorted[at]! <= last;
}

/** Writes rows of one open block up to another source's next key. Returns false at the end of the block. */
function mergeRun(
  options: MergeOptions,
  counts: MergeCounts,
  source: MergeSource,
  limit: SortKey | null,
): boolean {
  for (;;) {
    const key = source.key!;
    const row = source.row();
    if (source.age > 0) {
      counts.fetched++;
      if (source.isLast && options.signs) options.signs.found++;
      insert(options, counts, key, row);
    } else {
      resolveAbsent(options, counts, key, row);
    }
    if (!source.step()) return false;
    if (source.key === null || (limit !== null && source.key >= limit)) return true;
  }
}

/** Merges the rows of one key that is in several sources. */
async function mergeEqual(options: MergeOptions, counts: MergeCounts, heap: SourceHeap): Promise<void> {
  const key = heap.top!.key!;
  let before: ByteString | null = null;
  let fetched: ByteString | null = null;
  let last = 0;
  let others = 0;
  for (let top = heap.top; top !== undefined && top.key === key; top = heap.top) {
    if (!top.isOpen) await top.open();
    const row = top.row();
    if (top.age === 0) {
      before = row;
    } else {
      counts.fetched++;
      if (fetched !== null) counts.duplicates++;
      if (top.isLast) last++;
      else others++;
      // Sources come oldest first, so the later row wins unless its "updated at" field is older.
      if (fetched === null || options.isNewer?.(fetched, row) !== true) fetched = row;
    }
    if (!top.step()) await top.nextBlock();
    heap.updateTop();
  }
  if (options.signs && last > 0) {
    options.signs.repeated += last - 1;
    if (others === 0) options.signs.found++;
  }
  if (before === null) insert(options, counts, key, fetched!);
  else if (fetched === null) resolveAbsent(options, counts, key, before);
  else resolveFetched(options, counts, key, { before, fetched });
}
