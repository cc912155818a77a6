import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import type { DeletePolicy } from '../../core/settings.js';
import type { Block } from '../part/index-file.js';
import type { RowOutput } from '../part/series.js';
import type { SortKey } from '../row.js';
import { entomb, isTombstone, payloadAt } from '../row.js';
import { SourceHeap } from './heap.js';
import { byKey, lowerBound } from './keys.js';
import type { MergeSource } from './source.js';

/** What a merge did, in rows (DESIGN 3.11). */
export interface MergeCounts {
  /** Read from staged chunks. */
  fetched: number;
  /** Fetched rows that another fetched row of the same key displaced. */
  duplicates: number;
  unchanged: number;
  inserted: number;
  updated: number;
  deleted: number;
  /** Deleted rows that left the snapshot (`deletes: drop`). */
  dropped: number;
  /** Rows of the snapshot before that were not fetched and stay. */
  retained: number;
  /** In the new snapshot. */
  rows: number;
  /** Of the inserted, rows of change logs that a rollback had left behind. */
  reapplied: number;
}

export function noCounts(): MergeCounts {
  return {
    fetched: 0,
    duplicates: 0,
    unchanged: 0,
    inserted: 0,
    updated: 0,
    deleted: 0,
    dropped: 0,
    retained: 0,
    rows: 0,
    reapplied: 0,
  };
}

export function addCounts(into: MergeCounts, more: MergeCounts): void {
  for (const name of Object.keys(into) as (keyof MergeCounts)[]) into[name] += more[name];
}

export interface MergeOptions {
  /** At most one of age 0, the snapshot before; the others are staged chunks. */
  readonly sources: readonly MergeSource[];
  readonly snapshot: RowOutput;
  /** `null` where there was no snapshot before: then the change log is the snapshot itself. */
  readonly changes: RowOutput | null;
  /** Keys that are proven gone (DESIGN 3.5). */
  readonly gone: ReadonlySet<SortKey>;
  readonly deletes: DeletePolicy;
  readonly runId: RunId;
  readonly deletedAt: UtcSeconds;
  readonly delimiter: string;
  /** Whether the first row is newer than the second by a field of their own; `null` where the fields do not say. */
  readonly isNewer: ((a: ByteString, b: ByteString) => boolean | null) | null;
  /** Called now and then; throws to stop. */
  readonly onProgress?: ((counts: MergeCounts) => void) | undefined;
}

/**
 * Merges what was fetched into the snapshot before, by key, newest wins (DESIGN 3.3). Where the keys of a block
 * meet no other source's, it is moved as it is packed, with its neighbours; elsewhere rows are compared as text,
 * without reading their cells. Needs memory for one batch of blocks a source, whatever the number of rows.
 */
export async function mergeRows(options: MergeOptions): Promise<MergeCounts> {
  const counts = noCounts();
  for (const source of options.sources) await source.start();
  const heap = new SourceHeap(options.sources);
  const gone = [...options.gone].sort(byKey);
  for (let top = heap.top; top !== undefined; top = heap.top) {
    const limit = heap.second?.key ?? null;
    const mayMove = (block: Block): boolean =>
      (limit === null || block.last < limit) && !(top.age === 0 && holdsAny(block, gone));
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
        await options.changes?.take(taken);
      }
      heap.settle();
    } else {
      await top.open();
      if (limit === null || top.key! < limit) await mergeRun(options, counts, top, limit);
      else await mergeEqual(options, counts, heap);
      heap.settle();
    }
    options.onProgress?.(counts);
  }
  return counts;
}

/** Whether one of the sorted keys lies within a block: then the block has to be opened. */
function holdsAny({ first, last }: Block, sorted: readonly SortKey[]): boolean {
  const at = lowerBound(sorted, first);
  return at < sorted.length && sorted[at]! <= last;
}

/** Rows of one open block for as long as no other source has anything to say to them. */
async function mergeRun(
  options: MergeOptions,
  counts: MergeCounts,
  source: MergeSource,
  limit: SortKey | null,
) {
  const { snapshot, changes, gone } = options;
  for (;;) {
    const key = source.key!;
    const row = source.row();
    if (source.age > 0) {
      counts.fetched++;
      insert(options, counts, key, row, source.reapplied);
    } else if (gone.has(key) && options.deletes !== 'keep' && !isTombstone(row)) {
      remove(options, counts, key, row);
    } else {
      counts.retained++;
      counts.rows++;
      snapshot.add(key, row);
    }
    if (!source.step()) {
      await source.nextBlock();
      break;
    }
    if (source.key === null || (limit !== null && source.key >= limit)) break;
  }
  await snapshot.relieve();
  await changes?.relieve();
}

/** A row of a key that the snapshot lacks. A delete that was left behind brings nothing back where deleted rows go. */
function insert(
  options: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  row: ByteString,
  reapplied: boolean,
): void {
  if (reapplied && options.deletes === 'drop' && isTombstone(row)) {
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
  const tombstone = entomb(row, options.runId, options.deletedAt, options.delimiter);
  counts.deleted++;
  options.changes?.add(key, tombstone);
  if (options.deletes === 'drop') {
    counts.dropped++;
  } else {
    counts.rows++;
    options.snapshot.add(key, tombstone);
  }
}

/** One key that several sources have. */
async function mergeEqual(options: MergeOptions, counts: MergeCounts, heap: SourceHeap): Promise<void> {
  const key = heap.top!.key!;
  let before: ByteString | null = null;
  let left: ByteString | null = null;
  let fetched: ByteString | null = null;
  for (let top = heap.top; top !== undefined && top.key === key; top = heap.top) {
    await top.open();
    const row = top.row();
    if (top.age === 0) {
      before = row;
    } else {
      counts.fetched++;
      if (left !== null || fetched !== null) counts.duplicates++;
      // Sources come oldest first, so a later one wins unless the rows themselves say otherwise.
      if (top.reapplied) left = row;
      else if (fetched === null || options.isNewer?.(fetched, row) !== true) fetched = row;
    }
    if (!top.step()) await top.nextBlock();
    heap.settle();
  }
  settle(options, counts, key, { before, left, fetched });
  await options.snapshot.relieve();
  await options.changes?.relieve();
}

/** What the sources have of one key: the snapshot, change logs that were left behind, the service. */
interface Versions {
  readonly before: ByteString | null;
  readonly left: ByteString | null;
  readonly fetched: ByteString | null;
}

function settle(
  options: MergeOptions,
  counts: MergeCounts,
  key: SortKey,
  { before, left, fetched }: Versions,
): void {
  const { snapshot, changes } = options;
  if (before === null) {
    insert(options, counts, key, (fetched ?? left)!, fetched === null);
  } else if (fetched === null) {
    // Rows of change logs alone: the snapshot has the key already.
    counts.duplicates++;
    if (options.gone.has(key) && options.deletes !== 'keep' && !isTombstone(before)) {
      remove(options, counts, key, before);
    } else {
      counts.retained++;
      counts.rows++;
      snapshot.add(key, before);
    }
  } else if (
    isUnchanged(before, fetched) ||
    (!isTombstone(before) && options.isNewer?.(before, fetched) === true)
  ) {
    counts.unchanged++;
    counts.rows++;
    snapshot.add(key, before);
  } else {
    counts.updated++;
    counts.rows++;
    snapshot.add(key, fetched);
    changes?.add(key, fetched);
  }
}

/** Cell for cell: the payloads are the same text. A tombstone whose record is back has changed. */
function isUnchanged(before: ByteString, fetched: ByteString): boolean {
  if (isTombstone(before)) return false;
  const from = payloadAt(before);
  return (
    before.length - from === fetched.length - payloadAt(fetched) &&
    before.endsWith(fetched.slice(payloadAt(fetched)))
  );
}
