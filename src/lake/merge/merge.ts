import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import type { ShiftSigns } from '../../core/contract/index.js';
import type { DeletePolicy } from '../../core/settings.js';
import type { Block } from '../part/index-file.js';
import type { RowOutput } from '../part/series.js';
import type { SortKey } from '../rows/row.js';
import { isTombstone, payloadAt, toTombstone } from '../rows/row.js';
import { type MergeCounts, zeroCounts } from './counts.js';
import { SourceHeap } from './heap.js';
import { byKey, lowerBound } from './keys.js';
import type { MergeSource } from './source.js';

export { addCounts, type MergeCounts, zeroCounts } from './counts.js';

interface MergeOptions {
  /** At most one has age 0, the base snapshot. The others are staged chunks. */
  readonly sources: readonly MergeSource[];
  readonly snapshot: RowOutput;
  /** `null` if there is no base snapshot: the change log then has the same content as the snapshot. */
  readonly changes: RowOutput | null;
  /** Keys of records whose deletion is confirmed (docs/explanation/semantics.md#deletes). */
  readonly gone: ReadonlySet<SortKey>;
  readonly deletes: DeletePolicy;
  /**
   * Whether to insert rows that appear only in change logs of rolled-back runs. Must be false after a full list:
   * a record that is absent from it is deleted. Default: false.
   */
  readonly reinsert?: boolean;
  readonly runId: RunId;
  readonly deletedAt: UtcSeconds;
  readonly delimiter: string;
  /** Whether the first row is newer than the second by its "updated at" field; `null` where the field does not decide. */
  readonly isNewer: ((a: ByteString, b: ByteString) => boolean | null) | null;
  /** The merge adds to these counts what the keys show about the last reading of the list. */
  readonly signs?: Tally | undefined;
  /** Called after each block or run of rows. It may throw to stop the merge. */
  readonly onProgress?: ((counts: MergeCounts) => void) | undefined;
}

/** Mutable counts of the signs that a list shifted while it was read. */
export type Tally = { -readonly [Name in keyof ShiftSigns]: number };

/**
 * Merges the fetched rows into the base snapshot by key; the newest row wins (docs/explanation/semantics.md#newest-wins).
 * A block whose key range overlaps no other source is copied in compressed form, together with its neighbors. Other
 * rows are compared as text, without parsing their cells. Memory is bounded by one batch of blocks for each source.
 */
export async function mergeRows(options: MergeOptions): Promise<MergeCounts> {
  const counts = zeroCounts();
  for (const source of options.sources) await source.start();
  const heap = new SourceHeap(options.sources);
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
  const { gone } = options;
  for (;;) {
    const key = source.key!;
    const row = source.row();
    if (source.age > 0) {
      counts.fetched++;
      if (source.isLast && options.signs) options.signs.found++;
      insert(options, counts, key, row, source.reapplied);
    } else if (gone.has(key) && options.deletes !== 'keep' && !isTombstone(row)) {
      remove(options, counts, key, row);
    } else {
      keep(options, counts, key, row, 'retained');
    }
    if (!source.step()) return false;
    if (source.key === null || (limit !== null && source.key >= limit)) return true;
  }
}

/** Inserts a row whose key is not in the base snapshot. With `deletes: drop`, a tombstone of a rolled-back run adds no row. */
function insert(
  options: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  row: ByteString,
  reapplied: boolean,
): void {
  if (reapplied && (options.reinsert !== true || (options.deletes === 'drop' && isTombstone(row)))) {
    counts.duplicates++;
    return;
  }
  counts.inserted++;
  counts.rows++;
  if (reapplied) counts.reapplied++;
  options.snapshot.add(key, row);
  options.changes?.add(key, row);
}

function remove(options: MergeOptions, counts: MergeCounts, key: SortKey, row: ByteString): void {
  writeTombstone(options, counts, key, toTombstone(row, options.runId, options.deletedAt, options.delimiter));
}

function writeTombstone(
  options: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  tombstone: ByteString,
): void {
  counts.deleted++;
  options.changes?.add(key, tombstone);
  if (options.deletes === 'drop') {
    counts.dropped++;
  } else {
    counts.rows++;
    options.snapshot.add(key, tombstone);
  }
}

/** Merges the rows of one key that is in several sources. */
async function mergeEqual(options: MergeOptions, counts: MergeCounts, heap: SourceHeap): Promise<void> {
  const key = heap.top!.key!;
  let before: ByteString | null = null;
  let left: ByteString | null = null;
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
      if (left !== null || fetched !== null) counts.duplicates++;
      if (top.isLast) last++;
      else if (!top.reapplied) others++;
      // Sources come oldest first, so the later row wins unless its "updated at" field is older.
      if (top.reapplied) left = row;
      else if (fetched === null || options.isNewer?.(fetched, row) !== true) fetched = row;
    }
    if (!top.step()) await top.nextBlock();
    heap.updateTop();
  }
  if (options.signs && last > 0) {
    options.signs.repeated += last - 1;
    if (others === 0) options.signs.found++;
  }
  resolveKey(options, counts, key, { before, left, fetched });
}

/** The versions of one row: in the base snapshot, in change logs of rolled-back runs, and as fetched. */
interface Versions {
  readonly before: ByteString | null;
  readonly left: ByteString | null;
  readonly fetched: ByteString | null;
}

function resolveKey(
  options: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  { before, left, fetched }: Versions,
): void {
  if (before === null) {
    const isLeft = fetched === null || (left !== null && isNewerVersion(options, left, fetched));
    insert(options, counts, key, (isLeft ? left : fetched)!, isLeft);
    return;
  }
  const isStale = left !== null && !isNewerVersion(options, before, left) && !isSame(before, left);
  const known = isStale ? left : before;
  if (fetched === null) {
    if (isStale) {
      restore(options, counts, key, before, left);
    } else {
      counts.duplicates++;
      if (isGone(options, key, before)) remove(options, counts, key, before);
      else keep(options, counts, key, before, 'retained');
    }
  } else if (!isNewerVersion(options, known, fetched)) {
    if (isUnchanged(before, fetched)) keep(options, counts, key, before, 'unchanged');
    else update(options, counts, key, fetched);
  } else if (isStale) {
    counts.restored++;
    update(options, counts, key, left);
  } else {
    keep(options, counts, key, before, 'unchanged');
  }
}

/**
 * Handles a row that is older than its version in a rolled-back change log and was not fetched. The newest version
 * wins (docs/explanation/semantics.md#newest-wins), also if it is a tombstone.
 */
function restore(
  options: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  before: ByteString,
  left: ByteString,
): void {
  counts.restored++;
  const isDelete = isTombstone(left) && (options.deletes === 'drop' || !isTombstone(before));
  if (isDelete || isGone(options, key, left)) {
    counts.duplicates++;
    if (isDelete) writeTombstone(options, counts, key, left);
    else remove(options, counts, key, left);
  } else {
    update(options, counts, key, left);
  }
}

function keep(
  { snapshot, changes, runId }: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  row: ByteString,
  as: 'retained' | 'unchanged',
): void {
  counts[as]++;
  counts.rows++;
  snapshot.add(key, row);
  // A row of the base snapshot has the id of an earlier run, unless `adaptRows` restated it.
  if (row.startsWith(runId)) {
    counts.restated++;
    changes?.add(key, row);
  }
}

function update({ snapshot, changes }: MergeOptions, counts: MergeCounts, key: SortKey, row: ByteString) {
  counts.updated++;
  counts.rows++;
  snapshot.add(key, row);
  changes?.add(key, row);
}

function isGone({ gone, deletes }: MergeOptions, key: SortKey, row: ByteString): boolean {
  return gone.has(key) && deletes !== 'keep' && !isTombstone(row);
}

/** Whether `first`, from the older source, is newer by its "updated at" field. A tombstone never is. */
function isNewerVersion({ isNewer }: MergeOptions, first: ByteString, then: ByteString): boolean {
  return !isTombstone(first) && isNewer?.(first, then) === true;
}

/** Whether both rows have the same values and the same deleted state. */
function isSame(a: ByteString, b: ByteString): boolean {
  return isTombstone(a) === isTombstone(b) && a.slice(payloadAt(a)) === b.slice(payloadAt(b));
}

/** Whether the payloads are the same text. A tombstone whose record exists again counts as changed. */
function isUnchanged(before: ByteString, fetched: ByteString): boolean {
  if (isTombstone(before)) return false;
  const from = payloadAt(before);
  return (
    before.length - from === fetched.length - payloadAt(fetched) &&
    before.endsWith(fetched.slice(payloadAt(fetched)))
  );
}
