import type { ByteString, RunId, UtcSeconds } from '../../core/brands.js';
import type { RowOutput } from '../../lake/part/series.js';
import { newestOf, type VersionRules } from '../../lake/rows/newer.js';
import { isSame, isTombstone, type SortKey, toTombstone, withValuesOf } from '../../lake/rows/row.js';
import { AuditTally } from '../audit-tally.js';
import type { Restorable } from './earlier-settings.js';
import type { Tally } from './merge-rows.js';
import { type MergeSource, SourceHeap } from './merge-source.js';
import { Twins } from './twins.js';

/** A comparison of the base snapshot with fetched rows. */
interface Comparison extends VersionRules {
  /** At most one has age 0, the base snapshot. The others are staged chunks. */
  readonly sources: readonly MergeSource[];
  /** Gets the rows that count as differences, as the service has them. */
  readonly differences: RowOutput;
  readonly gone: ReadonlySet<SortKey>;
  /** What an absent record is whose deletion is confirmed. `open`: it has to be confirmed once more before it counts. */
  readonly absence: 'extra' | 'open' | 'notYetLookedFor' | 'notComparable';
  /** What a tombstone is that the service does not list. */
  readonly tombstones: 'equal' | 'notComparable';
  /** Whether changes since the checkpoint are known, so that the rest can count as differences. */
  readonly knowsChanges: boolean;
  /** Whether a row that was not fetched is a part of the audit. */
  readonly isLookedAt: (key: SortKey) => boolean;
  readonly restorable: Restorable | null;
  /** Data columns. */
  readonly columns: number;
  readonly run: { readonly runId: RunId; readonly deletedAt: UtcSeconds };
  readonly signs: Tally;
  /** Called after each block. It may throw to stop the comparison. */
  readonly onProgress: (rows: number) => void;
}

/** What the sources have of one key. */
interface Found {
  readonly before: ByteString | null;
  /** The newest row. */
  readonly fetched: ByteString | null;
  /** Whether the changes since the checkpoint show the record. */
  readonly isShown: boolean;
  /** Whether at least two readings have returned it. */
  readonly isAgain: boolean;
  /** Whether different records have the key. */
  readonly isAmbiguous: boolean;
}

/** Compares each row of the base snapshot with what was fetched (docs/how-to/audit.md#what-is-compared). */
export async function compareRows(comparison: Comparison): Promise<AuditTally> {
  const tally = new AuditTally();
  const heap = await SourceHeap.start(comparison.sources);
  for (let top = heap.top; top !== undefined; top = heap.top) {
    const key = top.key!;
    judge(comparison, tally, key, await takeKey(comparison, tally, heap));
    if (!comparison.differences.mustFlush && tally.before % PROGRESS_ROWS !== 0) continue;
    await comparison.differences.flush();
    comparison.onProgress(tally.before);
  }
  return tally;
}

const PROGRESS_ROWS = 1000;

/** Takes the rows of the smallest key. */
async function takeKey(comparison: Comparison, tally: AuditTally, heap: SourceHeap): Promise<Found> {
  const { signs } = comparison;
  const key = heap.top!.key!;
  let before: ByteString | null = null;
  let fetched: ByteString | null = null;
  let isShown = false;
  let isAgain = false;
  let last = 0;
  let others = 0;
  let chain: number | null = null;
  let first: { readonly source: MergeSource; readonly row: ByteString } | null = null;
  let twins: Twins | null = null;
  for (let top = heap.top; top !== undefined && top.key === key; top = heap.top) {
    if (!top.isOpen) await top.open();
    const row = top.row();
    if (top.age === 0) {
      before = row;
    } else {
      tally.fetched++;
      if (first === null) first = { source: top, row };
      else {
        twins ??= new Twins(first.source, first.row);
        twins.add(top, row);
      }
      if (top.isLast) last++;
      else others++;
      if (!top.mayBeMissed) isShown = true;
      // Only what differs is seen again by another reading that differs.
      else if (before === null || !isEqual(comparison, before, row)) {
        if (chain === null) chain = top.chain;
        else if (chain !== top.chain) isAgain = true;
      }
      // Sources come oldest first.
      fetched = fetched === null ? row : newestOf(fetched, row, comparison);
    }
    if (!top.step()) await top.nextBlock();
    heap.updateTop();
  }
  if (last > 0) {
    signs.repeated += last - 1;
    if (others === 0) signs.found++;
  }
  return { before, fetched, isShown, isAgain, isAmbiguous: twins !== null && twins.proof() !== null };
}

function judge(comparison: Comparison, tally: AuditTally, key: SortKey, found: Found): void {
  const { before, fetched, isAmbiguous } = found;
  if (before !== null) tally.before++;
  if (fetched === null) judgeAbsent(comparison, tally, key, before!);
  else if (isAmbiguous) tally.add(before, 'notComparable');
  else if (isTombstone(fetched) && before === null) tally.deleted++;
  else if (before !== null && isEqual(comparison, before, fetched)) {
    tally.add(before, 'equal');
    tally.cells += comparison.columns;
  } else if (before !== null && !isTombstone(fetched) && comparison.restorable?.isRestored(before, fetched))
    tally.add(before, 'notComparable');
  else judgeDifferent(comparison, tally, key, found);
}

/** A record that says that it is deleted equals a tombstone: its other fields may be absent. */
function isEqual({ hasTombstones }: Comparison, before: ByteString, fetched: ByteString): boolean {
  if (hasTombstones && isTombstone(before) && isTombstone(fetched)) return true;
  return isSame(before, fetched);
}

/** Judges a row of the base snapshot whose record was not fetched. */
function judgeAbsent(comparison: Comparison, tally: AuditTally, key: SortKey, before: ByteString): void {
  const { gone, absence, tombstones, run, delimiter, differences } = comparison;
  if (!comparison.isLookedAt(key)) tally.unseen++;
  else if (isTombstone(before)) tally.add(before, tombstones);
  else if (!gone.has(key)) tally.add(before, 'notComparable');
  else if (absence === 'open') {
    tally.open++;
    tally.add(before, 'pending');
  } else {
    tally.add(before, absence);
    if (absence === 'extra') differences.add(key, toTombstone(before, run.runId, run.deletedAt, delimiter));
  }
}

/** Judges a record that differs from its row, or has none. It counts if two readings have returned it. */
function judgeDifferent(
  comparison: Comparison,
  tally: AuditTally,
  key: SortKey,
  { before, fetched, isShown, isAgain }: Found,
): void {
  if (!comparison.knowsChanges) return void tally.add(before, 'notComparable');
  if (isShown) return void tally.add(before, 'pending');
  if (!isAgain) {
    tally.open++;
    return void tally.add(before, 'pending');
  }
  const row =
    before !== null && isTombstone(fetched!)
      ? withValuesOf(fetched!, before, comparison.delimiter)
      : fetched!;
  comparison.differences.add(key, row);
  if (before === null) return void tally.add(before, 'missing');
  tally.add(before, isTombstone(fetched!) ? 'extra' : 'different');
  tally.cells += comparison.columns;
  if (comparison.isNewer?.(before, fetched!) === true) tally.keptNewer++;
}
