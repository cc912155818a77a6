import type { EpochMs } from '../../core/brands.js';
import { type ByteString, fromByteString } from '../../core/brands.js';
import type { DeletesProblem } from '../../core/contract/index.js';
import { dateSpan, formOf } from '../../core/date-span.js';
import { DAY_MS } from '../../core/duration.js';
import type { ResourceSettings } from '../../core/settings.js';
import type { Column } from '../../lake/rows/data-columns.js';
import { columnReader } from '../../lake/rows/newer.js';
import { isTombstone, type SortKey } from '../../lake/rows/row.js';
import { type MergeSource, SourceHeap } from '../merge/merge-source.js';

/**
 * Finds live rows of the base snapshot (age 0) whose keys appear in no other source.
 *
 * @param judge decides whether a row's absence can mean a delete. It sees every row except those marked as deleted
 * @param onAbsent called for each such row, in key order
 * @returns the number of live rows of the base snapshot whose absence can mean a delete
 */
export async function findAbsent(
  sources: readonly MergeSource[],
  { note, isEligible }: Pick<AbsenceJudge, 'note' | 'isEligible'>,
  onAbsent: (key: SortKey) => void,
): Promise<number> {
  const heap = await SourceHeap.start(sources);
  const snapshot = sources.find((source) => source.age === 0);
  // Rows after the last one of the snapshot only have to be noted.
  const isAtEnd = (): boolean => note === null && snapshot?.key === null;
  let expected = 0;
  for (let top = heap.top; top !== undefined && !isAtEnd(); top = heap.top) {
    const key = top.key!;
    let row: ByteString | null = null;
    let present = false;
    for (; top !== undefined && top.key === key; top = heap.top) {
      await top.open();
      if (top.age === 0) row = top.row();
      else present = true;
      if (note !== null) {
        const one = top.row();
        if (!isTombstone(one)) note(one);
      }
      if (!top.step()) await top.nextBlock();
      heap.updateTop();
    }
    if (row === null || isTombstone(row) || !isEligible(row)) continue;
    expected++;
    if (!present) onAbsent(key);
  }
  return expected;
}

/** Rows this close to the window's edge may leave the window during the run. */
const EDGE_MS = 2 * DAY_MS;

/** Judges whether a row's absence from the list can mean a delete. */
export interface AbsenceJudge {
  /** Checks the date of a row, listed or not: a single value that is no date makes every other one doubtful. */
  readonly note: ((row: ByteString) => void) | null;
  /** Whether the absence of this row can mean a delete. */
  isEligible(row: ByteString): boolean;
  /** Why no absence means a delete, after all rows are noted; `null`: it can. */
  problem(): DeletesProblem | null;
}

/**
 * Without a window, absence can always mean a delete. With a window, the row's date must be well inside it, whatever the date
 * can mean: see `dateSpan`.
 *
 * @param now the earliest and the latest time of the service's clock
 */
export function judgeAbsence(
  { windowMs, windowField, csv }: Pick<ResourceSettings, 'windowMs' | 'windowField' | 'csv'>,
  columns: readonly Column[],
  now: { readonly earliest: EpochMs; readonly latest: EpochMs },
): AbsenceJudge {
  if (windowMs === null) return { note: null, isEligible: () => true, problem: () => null };
  const at = columns.findIndex((column) => column.name === windowField);
  if (at === -1) return { note: null, isEligible: () => false, problem: () => ({ kind: 'no-dates' }) };
  const read = columnReader(at, csv);
  const edge = now.latest - windowMs + EDGE_MS;
  let dates = 0;
  let form: string | null = null;
  return {
    note(row) {
      const cell = form === null ? read(row) : null;
      if (cell === null || cell === '') return;
      if (dateSpan(cell) === null) form = formOf(fromByteString(cell));
      else dates++;
    },
    isEligible(row) {
      const span = dateSpan(read(row) ?? '');
      // A record with a future date may not be in the list yet.
      return span !== null && span.from > edge && span.to <= now.earliest;
    },
    problem() {
      if (form !== null) return { kind: 'not-dates', form };
      return dates === 0 ? { kind: 'no-dates' } : null;
    },
  };
}
