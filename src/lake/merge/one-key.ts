import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import type { DeletePolicy } from '../../core/settings.js';
import type { RowOutput } from '../part/series.js';
import type { SortKey } from '../rows/row.js';
import { isTombstone, payloadAt, toTombstone } from '../rows/row.js';
import type { MergeCounts } from './counts.js';
import type { Restorable } from './restorable.js';

/** Follows which rows of the snapshot change, for checks before publish (docs/explanation/checks.md). */
export interface RowObserver {
  /** A row of the base snapshot becomes another row; `null`: there was none, or there is none any more. */
  changed(before: ByteString | null, after: ByteString | null): void;
  /** The run read the record; `row` is its row in the new snapshot. */
  fetched(row: ByteString): void;
}

/** Where the rows of a key go, and what decides about them. */
export interface KeyMerge {
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
  /** Judges rows that cells of earlier settings may be left in; `null` if there are none. */
  readonly restorable?: Restorable | null;
  /** Whether to count live rows that were not fetched. Default: false. */
  readonly countsUnlisted?: boolean;
  readonly observer?: RowObserver | null;
}

/** Inserts a row whose key is not in the base snapshot. With `deletes: drop`, a tombstone of a rolled-back run adds no row. */
export function insert(
  options: KeyMerge,
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
  options.observer?.changed(null, row);
  if (!reapplied) options.observer?.fetched(row);
}

/** Deletes the row of a record that is gone: a tombstone in the change log, and in the snapshot unless `deletes` is `drop`. */
export function remove(options: KeyMerge, counts: MergeCounts, key: SortKey, row: ByteString): void {
  const tombstone = toTombstone(row, options.runId, options.deletedAt, options.delimiter);
  writeTombstone(options, counts, key, { before: row, tombstone });
}

function writeTombstone(
  options: KeyMerge,
  counts: MergeCounts,
  key: SortKey,
  { before, tombstone }: { readonly before: ByteString; readonly tombstone: ByteString },
): void {
  counts.deleted++;
  options.observer?.changed(before, null);
  options.changes?.add(key, tombstone);
  if (options.deletes === 'drop') {
    counts.dropped++;
  } else {
    counts.rows++;
    countLost(options, counts, tombstone);
    options.snapshot.add(key, tombstone);
  }
}

/** The versions of one row: in the base snapshot, in change logs of rolled-back runs, and as fetched. */
interface Versions {
  readonly before: ByteString | null;
  readonly left: ByteString | null;
  readonly fetched: ByteString | null;
}

/** Writes the newest of several versions of a row; at least one is there. */
export function resolveKey(
  options: KeyMerge,
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
    // Only what earlier settings had hidden is new, so the record itself has not changed.
    else if (options.restorable?.isRestored(before, fetched)) {
      keep(options, counts, key, fetched, 'unchanged');
      options.observer?.changed(before, fetched);
    } else update(options, counts, key, { before, after: fetched });
    options.observer?.fetched(fetched);
  } else if (isStale) {
    counts.restored++;
    update(options, counts, key, { before, after: left });
    options.observer?.fetched(left);
  } else {
    // The older version that was fetched restores nothing.
    countLost(options, counts, before);
    keep(options, counts, key, before, 'unchanged');
    options.observer?.fetched(before);
  }
}

/**
 * Handles a row that is older than its version in a rolled-back change log and was not fetched. The newest version
 * wins (docs/explanation/semantics.md#newest-wins), also if it is a tombstone.
 */
function restore(
  options: KeyMerge,
  counts: MergeCounts,
  key: SortKey,
  before: ByteString,
  left: ByteString,
): void {
  counts.restored++;
  const isDelete = isTombstone(left) && (options.deletes === 'drop' || !isTombstone(before));
  if (isDelete || isGone(options, key, left)) {
    counts.duplicates++;
    if (isDelete) writeTombstone(options, counts, key, { before, tombstone: left });
    else {
      const tombstone = toTombstone(left, options.runId, options.deletedAt, options.delimiter);
      writeTombstone(options, counts, key, { before, tombstone });
    }
  } else {
    update(options, counts, key, { before, after: left });
  }
}

/** Keeps a row as it is in the base snapshot. @param as how it is counted */
export function keep(
  options: KeyMerge,
  counts: MergeCounts,
  key: SortKey,
  row: ByteString,
  as: 'retained' | 'unchanged',
): void {
  const { snapshot, changes, runId } = options;
  if (as === 'retained') {
    countLost(options, counts, row);
    if (options.countsUnlisted === true && !isTombstone(row)) counts.unlisted++;
  }
  counts[as]++;
  counts.rows++;
  snapshot.add(key, row);
  // A row of the base snapshot has the id of an earlier run, unless `adaptRows` restated it or a new reading restored it.
  if (row.startsWith(runId)) {
    counts.restated++;
    changes?.add(key, row);
  }
}

function countLost({ restorable }: KeyMerge, counts: MergeCounts, row: ByteString): void {
  if (restorable?.isLost(row)) counts.unrestored++;
}

function update(
  { snapshot, changes, observer }: KeyMerge,
  counts: MergeCounts,
  key: SortKey,
  { before, after }: { readonly before: ByteString; readonly after: ByteString },
): void {
  counts.updated++;
  counts.rows++;
  snapshot.add(key, after);
  changes?.add(key, after);
  observer?.changed(before, after);
}

function isGone({ gone, deletes }: KeyMerge, key: SortKey, row: ByteString): boolean {
  return gone.has(key) && deletes !== 'keep' && !isTombstone(row);
}

/** Whether `first`, from the older source, is newer by its "updated at" field. A tombstone never is. */
function isNewerVersion({ isNewer }: KeyMerge, first: ByteString, then: ByteString): boolean {
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
