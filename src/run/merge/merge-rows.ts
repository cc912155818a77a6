import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import type { DeletePolicy } from '../../core/settings.js';
import type { RowObserver } from '../../lake/checks/row-meter.js';
import type { Block } from '../../lake/documents/block-index.js';
import { BlockRows } from '../../lake/part/block-rows.js';
import type { PackedBlocks } from '../../lake/part/framing.js';
import { releaseBlocks } from '../../lake/part/reader.js';
import type { RowOutput } from '../../lake/part/series.js';
import { newestOf, type VersionRules } from '../../lake/rows/newer.js';
import {
  deletedAtOf,
  isSame,
  isTombstone,
  restamped,
  type SortKey,
  syncedAtOf,
  toTombstone,
  withValuesOf,
} from '../../lake/rows/row.js';
import { twinOf } from '../../lake/rows/twin.js';
import { byKey, lowerBound } from '../key-ranges.js';
import { MergeCounts, type ShiftSigns } from '../merge-result.js';
import type { DifferingColumns } from './differing-columns.js';
import type { Restorable } from './earlier-settings.js';
import { type MergeSource, SourceHeap } from './merge-source.js';
import { Twins } from './twins.js';

interface MergeOptions extends Omit<KeyMerge, 'counts'> {
  /** At most one has age 0, the base snapshot. The others are staged chunks. */
  readonly sources: readonly MergeSource[];
  /** The merge adds to these counts what the keys show about the last reading of the list. */
  readonly signs?: Tally | undefined;
  /** Called for each key that is not unique, with its different rows, which are then set aside. Default: the newest row counts. */
  readonly onTwins?: ((rows: readonly ByteString[]) => void) | undefined;
  /** Where one replaced row of each key goes that has different rows. Default: replaced rows are dropped. */
  readonly twins?: TwinOutputs | undefined;
  /** Called after each block or run of rows. It may throw to stop the merge. */
  readonly onProgress?: ((counts: MergeCounts) => void) | undefined;
}

/** Where rows go that differ from the newest row of their key, so that a later merge sees them (`twinOf`). */
export interface TwinOutputs {
  /** For rows that prove that the key is not unique, as their source says. */
  readonly proof: RowOutput;
  readonly others: RowOutput;
}

type Merge = MergeOptions & KeyMerge;

/** Mutable counts of the signs that a list shifted while it was read. */
export type Tally = { -readonly [Name in keyof ShiftSigns]: number };

/**
 * Merges the fetched rows into the base snapshot by key; the newest row wins (docs/explanation/guarantees.md#newest-wins).
 * A block whose key range overlaps no other source is copied in compressed form, together with its neighbors. Other
 * rows are compared as text, without parsing their cells. Memory is bounded by the buffers of the sources' readers.
 */
export async function mergeRows(options: MergeOptions): Promise<MergeCounts> {
  const counts = new MergeCounts();
  const merge: Merge = { ...options, counts };
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
        if (top.mayBeMissed) counts.missed += rows;
        if (top.isLast && options.signs) options.signs.found += rows;
        if (options.observer) await observeBlocks(options.observer, taken);
        await options.changes?.take(taken);
      }
      releaseBlocks(taken);
      heap.updateTop();
    } else {
      // Interleaved sources take this path for every row, so it awaits only what is not there yet.
      if (!top.isOpen) await top.open();
      if (limit !== null && top.key! >= limit) await mergeEqual(merge, heap);
      else if (!mergeRun(merge, top, limit)) await top.nextBlock();
      if (mustFlush(options)) await flush(options);
      heap.updateTop();
    }
    options.onProgress?.(counts);
  }
  return counts;
}

/** Blocks of fetched rows are copied as they are, but an observer sees each of their rows. */
async function observeBlocks(observer: RowObserver, taken: PackedBlocks): Promise<void> {
  for (const [at, block] of taken.blocks.entries()) {
    const rows = new BlockRows(await taken.framing.unpack(taken.bytes[at]!, block.rawBytes));
    while (rows.next()) {
      observer.changed(null, rows.row);
      observer.fetched(rows.row);
    }
  }
}

function mustFlush({ snapshot, changes, twins }: MergeOptions): boolean {
  const isFull = snapshot.mustFlush || changes?.mustFlush === true;
  return isFull || (twins !== undefined && (twins.others.mustFlush || twins.proof.mustFlush));
}

async function flush({ snapshot, changes, twins }: MergeOptions): Promise<void> {
  await snapshot.flush();
  await changes?.flush();
  await twins?.others.flush();
  await twins?.proof.flush();
}

/** Whether a block's key range contains one of the sorted keys. Such a block must be opened. */
function containsAny({ first, last }: Block, sorted: readonly SortKey[]): boolean {
  const at = lowerBound(sorted, first);
  return at < sorted.length && sorted[at]! <= last;
}

/** Writes rows of one open block up to another source's next key. Returns false at the end of the block. */
function mergeRun(merge: Merge, source: MergeSource, limit: SortKey | null): boolean {
  const { counts, signs } = merge;
  for (;;) {
    const key = source.key!;
    const row = source.row();
    if (source.age > 0) {
      counts.fetched++;
      if (source.isLast && signs) signs.found++;
      const known = changesIn(counts);
      insert(merge, key, row);
      if (source.mayBeMissed) counts.missed += changesIn(counts) - known;
    } else {
      resolveAbsent(merge, key, row);
    }
    if (!source.step()) return false;
    if (source.key === null || (limit !== null && source.key >= limit)) return true;
  }
}

/** Merges the rows of one key that is in several sources. */
async function mergeEqual(merge: Merge, heap: SourceHeap): Promise<void> {
  const { counts, signs } = merge;
  const rules = rulesOf(merge);
  const key = heap.top!.key!;
  let before: ByteString | null = null;
  let fetched: ByteString | null = null;
  let last = 0;
  let others = 0;
  let mayBeMissed = true;
  // Most keys have one row, so that nothing is to be compared.
  let first: { readonly source: MergeSource; readonly row: ByteString } | null = null;
  let twins: Twins | null = null;
  const all: ByteString[] | null = merge.twins === undefined ? null : [];
  let isProof = false;
  for (let top = heap.top; top !== undefined && top.key === key; top = heap.top) {
    if (!top.isOpen) await top.open();
    const row = top.row();
    if (top.age === 0) {
      before = row;
    } else {
      counts.fetched++;
      if (fetched !== null) counts.duplicates++;
      if (merge.onTwins !== undefined) {
        if (first === null) first = { source: top, row };
        else {
          twins ??= new Twins(first.source, first.row);
          twins.add(top, row);
        }
      }
      if (all !== null) {
        all.push(row);
        isProof ||= top.isProof;
      }
      if (top.isLast) last++;
      else others++;
      mayBeMissed &&= top.mayBeMissed;
      // Sources come oldest first.
      fetched = fetched === null ? row : newestOf(fetched, row, rules);
    }
    if (!top.step()) await top.nextBlock();
    heap.updateTop();
  }
  if (signs && last > 0) {
    signs.repeated += last - 1;
    if (others === 0) signs.found++;
  }
  const twin = all === null || fetched === null ? null : twinOf(fetched, all);
  if (twin !== null) merge.twins![isProof ? 'proof' : 'others'].add(key, all![twin]!);
  const proof = twins?.proof() ?? null;
  const known = changesIn(counts);
  if (proof !== null) {
    merge.onTwins?.(proof);
    setAside(merge, key, before, last + others);
  } else if (before === null) insert(merge, key, fetched!);
  else if (fetched === null) resolveAbsent(merge, key, before);
  else if (merge.tombstones === 'applied' && isTombstone(fetched))
    resolveTombstone(merge, key, before, fetched);
  else resolveFetched(merge, key, before, fetched);
  if (mayBeMissed && fetched !== null) counts.missed += changesIn(counts) - known;
}

function changesIn({ inserted, updated, deleted }: MergeCounts): number {
  return inserted + updated + deleted;
}

/** Sets aside the rows of a key that is not unique. The row of the base snapshot stays. @param rows how many were fetched */
function setAside(merge: KeyMerge, key: SortKey, before: ByteString | null, rows: number): void {
  const { counts } = merge;
  counts.fetched -= rows;
  counts.duplicates -= rows - 1;
  counts.setAside += rows;
  if (before !== null) keep(merge, key, before, 'retained');
}

/** Where the rows of a key go and are counted, and what decides about them. */
interface KeyMerge {
  readonly counts: MergeCounts;
  readonly snapshot: RowOutput;
  /** `null` if there is no base snapshot: the change log then has the same content as the snapshot. */
  readonly changes: RowOutput | null;
  /** Keys of records whose deletion is confirmed (docs/explanation/guarantees.md#deletes). */
  readonly gone: ReadonlySet<SortKey>;
  readonly deletes: DeletePolicy;
  /**
   * Of a rollback, whose fetched rows are a complete list, those of an earlier snapshot: each row that differs from the head
   * becomes a row of the run, with this `_synced_at`. `null`: they are the service's.
   */
  readonly rollback: { readonly syncedAt: UtcSeconds } | null;
  readonly runId: RunId;
  readonly deletedAt: UtcSeconds;
  readonly delimiter: string;
  /** Whether the first row is newer than the second by its "updated at" field; `null` where the field does not decide. */
  readonly isNewer: ((a: ByteString, b: ByteString) => boolean | null) | null;
  /**
   * What happens to fetched tombstones, which are records that say that they are deleted: they delete the rows of the base
   * snapshot (`applied`), or stay among other staged rows (`staged`). Default: no fetched row is one.
   */
  readonly tombstones?: 'applied' | 'staged' | undefined;
  /** Judges rows that cells of earlier settings may be left in; `null` if there are none. */
  readonly restorable?: Restorable | null;
  /** Whether to count live rows that were not fetched. Default: false. */
  readonly countsUnlisted?: boolean;
  readonly observer?: RowObserver | null;
  /** Gets each row of the change log with its row in the base snapshot. */
  readonly differing?: DifferingColumns | null;
  /** `_synced_at` of rows to count if they are not fetched: those of rollbacks, in the full read after them. Default: none. */
  readonly rolledBackAt?: ReadonlySet<UtcSeconds> | null;
}

/** Inserts a row whose key is not in the base snapshot. */
function insert(merge: KeyMerge, key: SortKey, fetched: ByteString): void {
  const { counts, snapshot, changes, observer } = merge;
  // Nothing is known of the record that it deletes.
  if (merge.tombstones === 'applied' && isTombstone(fetched)) return void counts.tombstones++;
  const row = ofRun(merge, fetched);
  counts.inserted++;
  counts.rows++;
  snapshot.add(key, row);
  changes?.add(key, row);
  observer?.changed(null, row);
  observer?.fetched(row);
}

/** The row as the run publishes it. Rows of a rollback's target bear an earlier run's id and time. */
function ofRun({ rollback, runId }: KeyMerge, row: ByteString): ByteString {
  return rollback === null ? row : restamped(row, runId, rollback.syncedAt);
}

/**
 * Deletes the row of a record that is gone: a tombstone in the change log, and in the snapshot unless `deletes` is `drop`.
 *
 * @param before the row in the base snapshot
 * @param row its last version
 */
function remove(merge: KeyMerge, key: SortKey, before: ByteString, row = before): void {
  const { counts, runId, deletedAt, delimiter, deletes, snapshot, observer } = merge;
  const tombstone = ofRun(merge, toTombstone(row, runId, deletedAt, delimiter));
  counts.deleted++;
  observer?.changed(before, null);
  logChange(merge, key, before, tombstone);
  if (deletes === 'drop') {
    counts.dropped++;
  } else {
    counts.rows++;
    countLost(merge, tombstone);
    snapshot.add(key, tombstone);
  }
}

/** Handles a row of the base snapshot whose key was not fetched. */
function resolveAbsent(merge: KeyMerge, key: SortKey, row: ByteString): void {
  const { rollback, gone, deletes } = merge;
  // A rollback's target is complete, so it also decides with `deletes: keep`, which is about the service's deletes.
  const isGone = rollback !== null || (gone.has(key) && deletes !== 'keep');
  if (isGone && !isTombstone(row)) remove(merge, key, row);
  else keep(merge, key, row, 'retained');
}

/** Handles a row that is in the base snapshot and was fetched. */
function resolveFetched(merge: KeyMerge, key: SortKey, before: ByteString, fetched: ByteString): void {
  const { counts, snapshot, rollback, restorable, observer } = merge;
  // A rollback is a deliberate return, so `updatedAt` does not count.
  const isOlder = rollback === null && isNewerVersion(merge, before, fetched);
  const row = ofRun(merge, fetched);
  if (isOlder) {
    // The older version that was fetched restores nothing.
    countLost(merge, before);
    counts.wentBack++;
    keep(merge, key, before, 'unchanged');
  } else if (isSame(before, fetched)) {
    keep(merge, key, before, 'unchanged');
  } else if (rollback === null && restorable?.isRestored(before, fetched)) {
    // Only what earlier settings had hidden is new, so the record itself has not changed.
    keep(merge, key, row, 'unchanged', before);
    observer?.changed(before, row);
  } else {
    counts.updated++;
    counts.rows++;
    snapshot.add(key, row);
    logChange(merge, key, before, row);
    observer?.changed(before, row);
  }
  observer?.fetched(isOlder ? before : row);
}

/** Handles a record of the base snapshot that says that it is deleted. */
function resolveTombstone(merge: KeyMerge, key: SortKey, before: ByteString, fetched: ByteString): void {
  const { counts, delimiter, runId } = merge;
  const row = withValuesOf(fetched, before, delimiter);
  if (merge.isNewer?.(before, row) === true || isSame(before, row)) {
    keep(merge, key, before, 'unchanged');
  } else if (isTombstone(before)) {
    counts.updated++;
    counts.rows++;
    const updated = toTombstone(row, runId, deletedAtOf(before)!, delimiter);
    merge.snapshot.add(key, updated);
    logChange(merge, key, before, updated);
  } else {
    counts.tombstones++;
    remove(merge, key, before, row);
  }
}

/**
 * Keeps a row of the base snapshot.
 *
 * @param as how it is counted
 * @param before the row in the base snapshot if it differs
 */
function keep(
  merge: KeyMerge,
  key: SortKey,
  row: ByteString,
  as: 'retained' | 'unchanged',
  before = row,
): void {
  const { counts, snapshot, runId } = merge;
  if (as === 'retained') {
    countLost(merge, row);
    if (merge.countsUnlisted === true && !isTombstone(row)) counts.unlisted++;
    // New settings can give such a row the run's id, but never another time.
    if (merge.rolledBackAt?.has(syncedAtOf(row))) counts.notReturned++;
  }
  counts[as]++;
  counts.rows++;
  snapshot.add(key, row);
  // A row of the base snapshot has the id of an earlier run, unless `adaptRows` restated it or a new reading restored it.
  if (row.startsWith(runId)) {
    counts.restated++;
    logChange(merge, key, before, row);
  }
}

/** Adds a row to the change log that is not new. @param before the row in the base snapshot */
function logChange(
  { changes, differing }: KeyMerge,
  key: SortKey,
  before: ByteString,
  row: ByteString,
): void {
  changes?.add(key, row);
  differing?.compare(before, row);
}

function countLost({ restorable, counts }: KeyMerge, row: ByteString): void {
  if (restorable?.isLost(row)) counts.unrestored++;
}

function rulesOf({ isNewer, delimiter, tombstones }: KeyMerge): VersionRules {
  return { isNewer, delimiter, hasTombstones: tombstones !== undefined };
}

/**
 * Whether `first`, from the older source, is newer by its "updated at" field. A tombstone is only if the service marks its
 * deleted records: otherwise a record that is listed again exists, whatever its time.
 */
function isNewerVersion({ isNewer, tombstones }: KeyMerge, first: ByteString, then: ByteString): boolean {
  return (tombstones !== undefined || !isTombstone(first)) && isNewer?.(first, then) === true;
}
