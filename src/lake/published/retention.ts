import type { RunId } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import { parseRunDate } from '../../core/run-id.js';
import type { RetentionSettings } from '../../core/settings.js';

/** How long a superseded snapshot is kept for readers that still use it, in ms (docs/reference/lake.md). */
export const READER_GRACE_MS = DAY_MS;

/** A run's folder among a resource's snapshots. */
export interface SnapshotRun {
  /** Date of its `dt=` folder, such as `2026-11-21`. */
  readonly date: string;
  readonly runId: RunId;
  /** Milliseconds since 1970. For a run that was not published, the time when it started. */
  readonly publishedAt: number;
}

interface RetentionInput {
  /** Runs on the chain of `latest.json`, in any order. */
  readonly published: readonly SnapshotRun[];
  /** Folders of runs that are not on the chain: they lost the swap, failed before it, or were rolled back. */
  readonly strays: readonly SnapshotRun[];
  /** The run that `latest.json` names. */
  readonly current: RunId;
  readonly settings: RetentionSettings;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Number of recent days that every clean-up checks. It repairs failed clean-ups of this many days. */
const RECENT_DATES = 10;

/** Days to check for snapshots to remove, as folder names. */
interface DatesToCheck {
  /** Days older than the retention time. */
  readonly old: readonly string[];
  readonly recent: readonly string[];
}

/**
 * Selects the days that may have snapshots to remove. In the first complete clean-up of a month this is every day, because
 * the settings may have changed. Later it leaves out the days between the old and the recent ones: the rule gives the same
 * result there as before, and listing each of them every night would be most of the cost of a small resource.
 *
 * @param dates folder names such as `dt=2026-11-21`, in any order; other names are ignored
 * @param cleanedUpTo the last run with a complete clean-up; `null`: none is known
 */
export function datesToCheck(
  dates: readonly string[],
  { snapshotsMs }: RetentionSettings,
  { now, cleanedUpTo }: { readonly now: number; readonly cleanedUpTo: RunId | null },
): DatesToCheck {
  const old = expiredDates(dates, { snapshotsMs, now });
  const known = dates.filter((date) => !Number.isNaN(dayOf(date))).sort();
  const rest = known.slice(old.length);
  const isFirst = cleanedUpTo === null || parseRunDate(cleanedUpTo) < startOfMonth(now, 0);
  return { old, recent: isFirst ? rest : rest.slice(-RECENT_DATES) };
}

/** The days that are older than the retention, oldest first. @param dates folder names; other names are ignored */
export function expiredDates(
  dates: readonly string[],
  { snapshotsMs, now }: { readonly snapshotsMs: number; readonly now: number },
): string[] {
  return dates.filter((date) => now - dayOf(date) > snapshotsMs).sort();
}

/** The start of a month, UTC, in milliseconds since 1970. @param after months to add */
function startOfMonth(time: number, after: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + after);
}

function dayOf(date: string): number {
  return Date.parse(date.replace(/^dt=/, ''));
}

/**
 * Returns the snapshots to remove, oldest first. It keeps the snapshot that `latest.json` names, snapshots published
 * after it, and snapshots whose successor is younger than 24 h, because readers may still use them. Of the others, it
 * removes those older than `snapshotsMs` and, with `keepPerDay: 'last'`, those that a later run of the same `dt` superseded
 * more than 24 h ago. Strays are removed by age, once a run that was published after them is older than 24 h: they supersede
 * no other snapshot. Change logs are kept.
 */
export function snapshotsToRemove({
  published,
  strays,
  current,
  settings,
  now,
}: RetentionInput): SnapshotRun[] {
  const inOrder = [...published].sort(byPublication);
  const isOld = (run: SnapshotRun): boolean => now - run.publishedAt > settings.snapshotsMs;
  const isOut = (run: SnapshotRun | undefined): boolean =>
    run !== undefined && now - run.publishedAt > READER_GRACE_MS;
  const currentAt = inOrder.findIndex((run) => run.runId === current);
  const gone = inOrder.filter((run, at) => {
    if (at >= currentAt || !isOut(inOrder[at + 1])) return false;
    const superseded = inOrder.slice(at + 1, currentAt + 1).find((later) => later.date === run.date);
    return isOld(run) || (settings.keepPerDay === 'last' && isOut(superseded));
  });
  // A stray may have been current until a rollback, which was before the next run was published.
  const lost = strays.filter((run) => run.runId !== current && isOld(run) && isOut(firstAfter(run, inOrder)));
  return [...gone, ...lost].sort(byPublication);
}

/** When `snapshotsToRemove` may next select a snapshot, in milliseconds since 1970. */
interface NextRemoval {
  /** The earliest time. Nothing is due before, unless another run of the same day is published: that takes `READER_GRACE_MS` from then. */
  readonly at: number;
  /** The earliest time for another reason than the age of a snapshot: a superseded one, or a new month. */
  readonly otherwiseAt: number;
}

/** Says when the next removal is due, from the snapshots that are left. */
export function nextRemoval({
  published,
  strays,
  unlisted,
  settings,
  now,
}: Omit<RetentionInput, 'current'> & {
  /** Days that were not listed, as folder names. */
  readonly unlisted: readonly string[];
}): NextRemoval {
  const { snapshotsMs, keepPerDay } = settings;
  const inOrder = [...published].sort(byPublication);
  const old: number[] = [];
  const superseded: number[] = [];
  for (const [at, run] of inOrder.entries()) {
    const outAt = (inOrder[at + 1]?.publishedAt ?? 0) + READER_GRACE_MS;
    old.push(Math.max(run.publishedAt + snapshotsMs, outAt));
    const sameDay = inOrder.slice(at + 1).find(({ date }) => date === run.date);
    if (keepPerDay === 'last' && sameDay)
      superseded.push(Math.max(sameDay.publishedAt + READER_GRACE_MS, outAt));
  }
  const lost = strays.map((run) =>
    Math.max(run.publishedAt + snapshotsMs, (firstAfter(run, inOrder) ?? run).publishedAt + READER_GRACE_MS),
  );
  const days = unlisted.map(dayOf).filter((day) => !Number.isNaN(day));
  const otherwiseAt = Math.min(startOfMonth(now, 1), 1 + Math.min(...superseded));
  const byAge = 1 + Math.min(...old, ...lost, ...days.map((day) => day + snapshotsMs));
  return { at: Math.min(byAge, otherwiseAt), otherwiseAt };
}

/** The first run that was published after a stray began. @param inOrder published runs, oldest first */
function firstAfter(stray: SnapshotRun, inOrder: readonly SnapshotRun[]): SnapshotRun | undefined {
  return inOrder.find((run) => run.publishedAt > stray.publishedAt);
}

/** Runs of one resource are sequential, so the run id decides between equal times. */
function byPublication(a: SnapshotRun, b: SnapshotRun): number {
  return a.publishedAt - b.publishedAt || (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0);
}
