import type { RunId } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
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
 * Selects the days that may have snapshots to remove. On the first day of a month this is every day, because the settings
 * may have changed. On other days it leaves out the days between the old and the recent ones: the rule gives the same
 * result there as before, and listing each of them every night would be most of the cost of a small resource.
 *
 * @param dates folder names such as `dt=2026-11-21`, in any order; other names are ignored
 */
export function datesToCheck(
  dates: readonly string[],
  { snapshotsMs }: RetentionSettings,
  now: number,
): DatesToCheck {
  const known = dates.filter((date) => !Number.isNaN(dayOf(date))).sort();
  const old = known.filter((date) => now - dayOf(date) > snapshotsMs);
  const rest = known.slice(old.length);
  const isFirstOfMonth = known.length < 2 || known.at(-1)!.slice(0, 10) !== known.at(-2)!.slice(0, 10);
  return { old, recent: isFirstOfMonth ? rest : rest.slice(-RECENT_DATES) };
}

function dayOf(date: string): number {
  return Date.parse(date.replace(/^dt=/, ''));
}

/**
 * Returns the snapshots to remove, oldest first. It keeps the snapshot that `latest.json` names, snapshots published
 * after it, and snapshots whose successor is younger than 24 h, because readers may still use them. Of the others, it
 * removes those older than `snapshotsMs` and, with `keepPerDay: 'last'`, those that a later run of the same `dt` superseded
 * more than 24 h ago. Strays are removed by age only, because they supersede no other snapshot. Change logs are kept.
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
  const lost = strays.filter((run) => run.runId !== current && isOld(run) && isOut(run));
  return [...gone, ...lost].sort(byPublication);
}

/**
 * The earliest time, in milliseconds since 1970, at which `snapshotsToRemove` may select one of these snapshots. Nothing is
 * due before, unless another run of the same day is published: that takes `READER_GRACE_MS` from then.
 */
export function nextRemoval({
  published,
  strays,
  unlisted,
  settings,
}: Pick<RetentionInput, 'published' | 'strays' | 'settings'> & {
  /** Days that were not listed, as folder names. */
  readonly unlisted: readonly string[];
}): number {
  const { snapshotsMs, keepPerDay } = settings;
  const inOrder = [...published].sort(byPublication);
  const times = inOrder.flatMap((run, at) => {
    const next = inOrder[at + 1];
    const outAt = (next?.publishedAt ?? 0) + READER_GRACE_MS;
    const sameDay = inOrder.slice(at + 1).find(({ date }) => date === run.date);
    return [
      Math.max(run.publishedAt + snapshotsMs, outAt),
      ...(keepPerDay === 'last' && sameDay ? [Math.max(sameDay.publishedAt + READER_GRACE_MS, outAt)] : []),
    ];
  });
  const lost = strays.map((run) => run.publishedAt + Math.max(snapshotsMs, READER_GRACE_MS));
  const days = unlisted.map(dayOf).filter((day) => !Number.isNaN(day));
  return 1 + Math.min(...times, ...lost, ...days.map((day) => day + snapshotsMs));
}

/** Runs of one resource are sequential, so the run id decides between equal times. */
function byPublication(a: SnapshotRun, b: SnapshotRun): number {
  return a.publishedAt - b.publishedAt || (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0);
}
