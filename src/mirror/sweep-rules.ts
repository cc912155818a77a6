import type { EpochMs, RunId } from '../core/brands.js';
import type { MirrorState, RunInput, RunSweep, Swept } from '../core/contract/index.js';
import { HOUR_MS } from '../core/duration.js';

/** Less than a day, so that a run that starts a little earlier than the day before still sweeps. */
const EVERY_MS = 20 * HOUR_MS;

/**
 * How long after a purge a late request of a run from before the purge may still arrive at the store, ms. S3 rejects signatures
 * that are older than 15 minutes.
 */
const LATE_MS = HOUR_MS;

/** What a sweep has to know of the run that makes it. */
interface SweepingRun {
  /** Whether it is a plain increment. */
  readonly isPlain: boolean;
  /** As in the turn. */
  readonly notContinued: RunInput['notContinued'] | null;
}

/**
 * The sweep that the activity of a whole run makes; `null`: none is due. Plain increments sweep once a day, all other runs
 * always.
 */
export function sweepOfRun(
  state: MirrorState,
  { isPlain, notContinued }: SweepingRun,
  now: EpochMs,
): RunSweep | null {
  const { sweepAt } = state;
  const isDue = sweepAt === null || sweepAt.at <= now;
  const ended = endedRuns(state, notContinued);
  const hasFailed = ended.length > 0;
  if (isPlain && !isDue && !hasFailed) return null;
  const before = purgeToSweep(state, now);
  // What was before a new mirror, it does not know.
  const isFirst = sweepAt === null && state.published === null;
  const isAll = !isPlain || isFirst || hasFailed || before !== null;
  return { before, ended, scope: isAll ? 'all' : 'published' };
}

/**
 * The last run, if it was not published, and the one that the published run takes the place of. The published run has begun after
 * their end, so they can no longer be published then. A store shows whole seconds, so its times may not tell the runs apart.
 */
export function endedRuns(
  { lastRun }: Pick<MirrorState, 'lastRun'>,
  notContinued: SweepingRun['notContinued'],
): RunId[] {
  const isEnded = lastRun !== null && lastRun.outcome !== 'published' && lastRun.runId !== null;
  return [...(isEnded ? [lastRun.runId!] : []), ...(notContinued ? [notContinued.runId] : [])];
}

/**
 * The state after a sweep. What a purge requires stays until a sweep has done it that began late enough.
 *
 * @param now end of the sweep
 */
export function afterSweep(
  { sweepAt }: MirrorState,
  { before, isDone, refused }: { readonly before: RunId | null } & Pick<Swept, 'isDone' | 'refused'>,
  now: EpochMs,
): Pick<MirrorState, 'sweepAt'> {
  const left = refused.refused === 0 ? null : refused;
  if (sweepAt !== null && sweepAt.before !== null && sweepAt.before !== before)
    return { sweepAt: { ...sweepAt, refused: left } };
  if (isDone && left === null) return { sweepAt: { at: now + EVERY_MS, before: null, refused: null } };
  // What was refused is tried again by each run, and after a purge by the timer.
  const wait = left !== null && before !== null ? LATE_MS : 0;
  return { sweepAt: { at: now + wait, before, refused: left } };
}

/** What a purge requires: a sweep when no late request can arrive any more. */
export function afterPurge(purge: RunId, now: EpochMs): Pick<MirrorState, 'sweepAt'> {
  return { sweepAt: { at: now + LATE_MS, before: purge, refused: null } };
}

/** Milliseconds until the mirror sweeps by itself; `null`: the next run does. */
export function untilSweep({ sweepAt }: MirrorState, now: EpochMs): number | null {
  return sweepAt === null || sweepAt.before === null ? null : Math.max(1, sweepAt.at - now);
}

/** What a sweep that begins now removes for a purge; `null`: nothing. */
export function purgeToSweep({ sweepAt }: MirrorState, now: EpochMs): RunId | null {
  return sweepAt !== null && sweepAt.at <= now ? sweepAt.before : null;
}

/** The state after a sweep that failed. @param before the purge that required it */
export function afterFailedSweep(
  { sweepAt }: MirrorState,
  before: RunId | null,
  now: number,
): Pick<MirrorState, 'sweepAt'> {
  if (sweepAt === null || sweepAt.before === null) return { sweepAt: null };
  // A timer repeats the sweep after a purge.
  return before === null ? { sweepAt } : afterPurge(before, now);
}
