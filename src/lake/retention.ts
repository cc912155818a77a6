import type { RunId } from '../core/brands.js';
import type { RetentionSettings } from '../core/settings.js';

const HOUR = 60 * 60_000;

/** How long a snapshot stays for those who read it after another has taken its place, in ms (DESIGN 6). */
export const READER_GRACE_MS = 24 * HOUR;

/** A run's folder among a resource's snapshots. */
export interface SnapshotRun {
  /** Of its `dt=`, `2026-11-21`. */
  readonly date: string;
  readonly runId: RunId;
  /** Milliseconds since 1970; of a run that never was published, when it started. */
  readonly publishedAt: number;
}

export interface RetentionInput {
  /** On the chain of runs that ends at `latest.json`, in any order. */
  readonly published: readonly SnapshotRun[];
  /** Folders of runs that are not on the chain: they lost the swap, failed before it, or were rolled back. */
  readonly strays: readonly SnapshotRun[];
  /** The run that `latest.json` names. */
  readonly current: RunId;
  readonly settings: RetentionSettings;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Days that are looked at every night besides those that are too old: failed clean-ups of so many are made up for. */
const RECENT_DATES = 10;

/** Days of snapshots, as the names of their folders. */
export interface DatesToLookAt {
  /** What the rule may let go of for its age alone. */
  readonly old: readonly string[];
  readonly recent: readonly string[];
}

/**
 * Among which days there may be snapshots to remove. On the first day of a month all are looked at, for the settings
 * may have changed; on the others the rule cannot have become true of those between the old and the recent ones, and
 * a listing of each, every night, would be most of what the lake of a small resource costs.
 *
 * @param dates names such as `dt=2026-11-21`, in any order; others are left out
 */
export function datesToLookAt(
  dates: readonly string[],
  { snapshotsMs }: RetentionSettings,
  now: number,
): DatesToLookAt {
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
 * Which snapshots may go, oldest first. Never the one that `latest.json` names, nor one that was published after
 * it, nor one whose successor is younger than 24 h: somebody may be reading it. Of the others go those older than
 * `snapshotsMs` and, with `keepPerDay: 'last'`, those that a later run of the same `dt` superseded more than 24 h
 * ago. Strays go by their age alone: they supersede nothing. Change logs are not this rule's business.
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

/** Runs of one resource follow one another, so the run id decides where the times are equal. */
function byPublication(a: SnapshotRun, b: SnapshotRun): number {
  return a.publishedAt - b.publishedAt || (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0);
}
