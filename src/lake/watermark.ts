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
  const next = toUtcSeconds(runStart(clocks, sync.clock) - sync.overlapMs);
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
