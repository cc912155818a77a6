import type { UtcSeconds } from '../core/brands.js';
import type { SyncSettings } from '../core/settings.js';

/** Rounds down: an earlier time only brings more again. @param ms milliseconds since 1970 */
export function toUtcSeconds(ms: number): UtcSeconds {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z` as UtcSeconds;
}

export function fromUtcSeconds(time: UtcSeconds): number {
  return Date.parse(time);
}

export interface RunClocks {
  /** The workflow's, milliseconds since 1970, when the run began. */
  readonly startedAt: number;
  /** `Date` of the run's first response; `null` where the service sends none. */
  readonly serviceStart: number | null;
}

/** When the run began: the earlier of both clocks is always safe (DESIGN 3.1). */
export function runStart(clocks: RunClocks, clock: SyncSettings['clock']): number {
  if (clocks.serviceStart === null) return clocks.startedAt;
  return clock === 'service' ? clocks.serviceStart : Math.min(clocks.startedAt, clocks.serviceStart);
}

/**
 * Less than this is no overlap: whether `updatedSince` includes its own second is open, and a service may keep its
 * times in whole seconds.
 */
const LEAST_OVERLAP_MS = 1000;

/** What to ask for to have everything that has changed since a time, which need not be a whole second. */
export function askFrom(start: number, { overlapMs }: Pick<SyncSettings, 'overlapMs'>): UtcSeconds {
  return toUtcSeconds(start - Math.max(overlapMs, LEAST_OVERLAP_MS));
}

/** Two clocks' seconds begin at different times. */
const CLOCK_NOISE_MS = 2000;

/**
 * What to ask for instead where the service's clock has gone back since the run before: changes after that bear earlier
 * times than those that were read. `null` where it has not, or by no more than the overlap covers.
 *
 * @param asked what was asked for
 * @param elapsed since the run before began, ms
 * @param serviceNow the service's clock
 */
export function askAfterSetback(
  asked: UtcSeconds,
  elapsed: number,
  serviceNow: number,
  sync: Pick<SyncSettings, 'overlapMs'>,
): UtcSeconds | null {
  // When the run before began, on the clock as it goes now.
  const since = askFrom(serviceNow - elapsed, sync);
  const covered = Math.max(sync.overlapMs, CLOCK_NOISE_MS);
  return fromUtcSeconds(since) < fromUtcSeconds(asked) - covered ? since : null;
}

/**
 * The next `updatedSince`: the start of the run less the overlap, and never before the checkpoint that there is. A run
 * that asked for less than what changed since the checkpoint leaves it where it is (DESIGN 2).
 *
 * @param asked the run's `updatedSince`; `null` for everything
 */
export function nextCheckpoint(
  clocks: RunClocks,
  sync: Pick<SyncSettings, 'clock' | 'overlapMs'>,
  checkpoint: UtcSeconds | null,
  asked: UtcSeconds | null,
): UtcSeconds {
  if (checkpoint !== null && asked !== null && asked > checkpoint) return checkpoint;
  const next = askFrom(runStart(clocks, sync.clock), sync);
  return checkpoint !== null && checkpoint > next ? checkpoint : next;
}

/** A stretch of time whose changes no list shows any more (DESIGN 3.4). */
export interface Gap {
  readonly from: UtcSeconds;
  readonly to: UtcSeconds;
}

/** What a windowed resource lost between its checkpoint and the run's start; `null` for nothing. */
export function windowGap(
  checkpoint: UtcSeconds | null,
  windowMs: number | null,
  clocks: RunClocks,
): Gap | null {
  if (checkpoint === null || windowMs === null) return null;
  const edge = (clocks.serviceStart ?? clocks.startedAt) - windowMs;
  return fromUtcSeconds(checkpoint) < edge ? { from: checkpoint, to: toUtcSeconds(edge) } : null;
}
