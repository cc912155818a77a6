import type { EpochMs, Millis } from '../core/brands.js';
import type { PublishedMode } from '../core/contract/index.js';
import { HOUR_MS } from '../core/duration.js';
import type { FullRead } from '../lake/documents/document-schemas.js';

/** Shortest time between full reads of a list that shifts in every reading, in ms: each attempt takes several full reads. */
const SHIFTING_REREAD_MS = 20 * HOUR_MS;

/** A last full read so far in the future, in ms, had a wrong clock: clocks of Temporal's servers differ by less. */
const CLOCK_DIFFERENCE_MS = HOUR_MS;

const NEVER = new Date(0).toISOString();

/**
 * Whether a run must read everything (docs/explanation/guarantees.md#full-reads): once per `sync.reconcileEvery`, and after a
 * run whose list shifted even in its last reading. A list that shifts in every run gets a full read once a day. If the clock
 * was ahead during the last one, it says nothing, so another one is due.
 *
 * @param last the last full read of the base snapshot; `null` if unknown
 * @param everyMs longest time between full reads; `null` for no limit
 */
export function isFullReadDue(last: FullRead | null, now: EpochMs, everyMs: Millis | null): boolean {
  if (last === null) return everyMs !== null;
  const elapsed = now - Date.parse(last.startedAt);
  const isLonger = (ms: number): boolean => elapsed >= ms || elapsed < -CLOCK_DIFFERENCE_MS;
  if (last.shifted === 1 || (last.shifted > 1 && isLonger(SHIFTING_REREAD_MS))) return true;
  return everyMs !== null && isLonger(everyMs);
}

/** A run, as far as it decides when the next full read is due. */
export interface Read {
  readonly mode: PublishedMode;
  /** Start of reading. */
  readonly startedAt: EpochMs;
  readonly shifted: boolean;
  /** Whether the run moves no checkpoint, because a list was incomplete. */
  readonly isHeld: boolean;
  /** Whether its last reading of the list had exactly as many records as the service says that the list has; `null`: not known. */
  readonly hasExactTotal: boolean | null;
  /** Records of that reading. */
  readonly records: number;
  /** Whether totals of lists of changes count changes alone; `null`: it has not shown it. */
  readonly countsChanges: boolean | null;
  /** Rows that no increment has shown; absent: they were not compared. */
  readonly missed?: number | undefined;
  /** Pages of the last reading of the list, and records per page. */
  readonly pages: number;
  readonly pageSize: number;
}

/** The full read that the run's snapshot is based on. */
export function nextFullRead(before: FullRead | null, run: Read): FullRead | null {
  // The full read after a rollback is due whatever this says, and its list has not shifted yet.
  if (run.mode === 'rollback') return before === null ? null : { ...before, shifted: 0 };
  // An incomplete increment moves no checkpoint, so the next one reads it again.
  if (run.mode === 'increment' && !(run.shifted && !run.isHeld)) return before;
  const shifted = run.shifted ? (before?.shifted ?? 0) + 1 : 0;
  if (run.mode === 'increment') return { startedAt: NEVER, ...before, shifted };
  const { pages, pageSize } = run;
  const isExactNow = run.shifted ? null : run.hasExactTotal;
  const isExact = isExactNow ?? before?.hasExactTotal === true;
  const listed = isExactNow === true ? run.records : before?.listed;
  // An incomplete run shows it, too. Otherwise one that is incomplete because of such a total would never be the last one.
  const countsChanges = run.countsChanges ?? before?.countsChanges;
  const exact = {
    ...(isExact ? { hasExactTotal: true } : {}),
    ...(isExact && listed !== undefined ? { listed } : {}),
    ...(countsChanges === undefined ? {} : { countsChanges }),
  };
  const missed = run.missed ?? before?.missed;
  return {
    startedAt: new Date(run.startedAt).toISOString(),
    ...{ shifted, ...exact, ...(missed === undefined ? {} : { missed }), pages, pageSize },
  };
}
