import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import type { DeletePolicy } from '../../core/settings.js';
import type { RowObserver } from '../checks/row-meter.js';
import type { RowOutput } from '../part/series.js';
import type { SortKey } from '../rows/row.js';
import { isTombstone, payloadAt, restamped, syncedAtOf, toTombstone } from '../rows/row.js';
import type { MergeCounts } from './counts.js';
import type { Restorable } from './restorable.js';

/** How a rollback merges: its target is a complete list, and each row that differs from the head becomes a row of the run. */
export interface RollbackMerge {
  /** `_synced_at` of the rows that the run publishes. */
  readonly syncedAt: UtcSeconds;
}

/** Where the rows of a key go, and what decides about them. */
export interface KeyMerge {
  readonly snapshot: RowOutput;
  /** `null` if there is no base snapshot: the change log then has the same content as the snapshot. */
  readonly changes: RowOutput | null;
  /** Keys of records whose deletion is confirmed (docs/explanation/guarantees.md#deletes). */
  readonly gone: ReadonlySet<SortKey>;
  readonly deletes: DeletePolicy;
  /** Of a rollback, whose fetched rows are those of an earlier snapshot; `null`: they are the service's. */
  readonly rollback: RollbackMerge | null;
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
  /** `_synced_at` of rows to count if they are not fetched: those of rollbacks, in the full read after them. Default: none. */
  readonly rolledBackAt?: ReadonlySet<UtcSeconds> | null;
}

/** Inserts a row whose key is not in the base snapshot. */
export function insert(options: KeyMerge, counts: MergeCounts, key: SortKey, fetched: ByteString): void {
  const row = ofRun(options, fetched);
  counts.inserted++;
  counts.rows++;
  options.snapshot.add(key, row);
  options.changes?.add(key, row);
  options.observer?.changed(null, row);
  options.observer?.fetched(row);
}

/** The row as the run publishes it. Rows of a rollback's target bear an earlier run's id and time. */
function ofRun({ rollback, runId }: KeyMerge, row: ByteString): ByteString {
  return rollback === null ? row : restamped(row, runId, rollback.syncedAt);
}

/** Deletes the row of a record that is gone: a tombstone in the change log, and in the snapshot unless `deletes` is `drop`. */
export function remove(options: KeyMerge, counts: MergeCounts, key: SortKey, row: ByteString): void {
  const { runId, deletedAt, delimiter, deletes, snapshot, changes, observer } = options;
  const tombstone = ofRun(options, toTombstone(row, runId, deletedAt, delimiter));
  counts.deleted++;
  observer?.changed(row, null);
  changes?.add(key, tombstone);
  if (deletes === 'drop') {
    counts.dropped++;
  } else {
    counts.rows++;
    countLost(options, counts, tombstone);
    snapshot.add(key, tombstone);
  }
}

/** Handles a row of the base snapshot whose key was not fetched. */
export function resolveAbsent(options: KeyMerge, counts: MergeCounts, key: SortKey, row: ByteString): void {
  const { rollback, gone, deletes } = options;
  // A rollback's target is complete, so it also decides with `deletes: keep`, which is about the service's deletes.
  const isGone = rollback !== null || (gone.has(key) && deletes !== 'keep');
  if (isGone && !isTombstone(row)) remove(options, counts, key, row);
  else keep(options, counts, key, row, 'retained');
}

/** Handles a row that is in the base snapshot and was fetched. */
export function resolveFetched(
  options: KeyMerge,
  counts: MergeCounts,
  key: SortKey,
  { before, fetched }: { readonly before: ByteString; readonly fetched: ByteString },
): void {
  const { rollback, restorable, observer } = options;
  // A rollback is a deliberate return, so `updatedAt` does not count.
  const isOlder = rollback === null && isNewerVersion(options, before, fetched);
  const row = ofRun(options, fetched);
  if (isOlder) {
    // The older version that was fetched restores nothing.
    countLost(options, counts, before);
    keep(options, counts, key, before, 'unchanged');
  } else if (isSame(before, fetched)) {
    keep(options, counts, key, before, 'unchanged');
  } else if (rollback === null && restorable?.isRestored(before, fetched)) {
    // Only what earlier settings had hidden is new, so the record itself has not changed.
    keep(options, counts, key, row, 'unchanged');
    observer?.changed(before, row);
  } else {
    update(options, counts, key, { before, after: row });
  }
  observer?.fetched(isOlder ? before : row);
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
    // New settings can give such a row the run's id, but never another time.
    if (options.rolledBackAt?.has(syncedAtOf(row))) counts.notReturned++;
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

/** Whether `first`, from the older source, is newer by its "updated at" field. A tombstone never is. */
function isNewerVersion({ isNewer }: KeyMerge, first: ByteString, then: ByteString): boolean {
  return !isTombstone(first) && isNewer?.(first, then) === true;
}

/** Whether both rows have the same values and the same deleted state. */
function isSame(a: ByteString, b: ByteString): boolean {
  const from = payloadAt(a);
  return (
    isTombstone(a) === isTombstone(b) &&
    a.length - from === b.length - payloadAt(b) &&
    a.endsWith(b.slice(payloadAt(b)))
  );
}
