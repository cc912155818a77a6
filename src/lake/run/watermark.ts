import type { UtcSeconds } from '../../core/brands.js';
import type { SyncSettings } from '../../core/settings.js';
import { toUtcSeconds } from '../../core/utc-time.js';

export { toUtcSeconds };

export function fromUtcSeconds(time: UtcSeconds): number {
  return Date.parse(time);
}

interface RunClocks {
  /** Start of the run on the workflow's clock, milliseconds since 1970. */
  readonly startedAt: number;
  /** `Date` header of the run's first response, milliseconds since 1970; `null` if it has none. */
  readonly serviceStart: number | null;
}

/** Start of the run. By default the earlier of both clocks, which is always safe (docs/explanation/semantics.md#watermark). */
export function runStart(clocks: RunClocks, clock: SyncSettings['clock']): number {
  if (clocks.serviceStart === null) return clocks.startedAt;
  return clock === 'service' ? clocks.serviceStart : Math.min(clocks.startedAt, clocks.serviceStart);
}

/**
 * The smallest overlap. The spec does not say whether `updatedSince` includes its own second, and a service may store
 * times in whole seconds.
 */
const MIN_OVERLAP_MS = 1000;

/** The `updatedSince` that fetches every change since a time. @param start milliseconds since 1970 */
export function updatedSinceFor(start: number, { overlapMs }: Pick<SyncSettings, 'overlapMs'>): UtcSeconds {
  return toUtcSeconds(start - Math.max(overlapMs, MIN_OVERLAP_MS));
}

/** Differences up to this are normal, because clocks are compared in whole seconds. */
const CLOCK_NOISE_MS = 2000;

/**
 * The `updatedSince` to use if the service's clock was set back since the previous run. Later changes then have earlier
 * times than rows that were already read. `null` if it was not set back, or by no more than the overlap covers.
 *
 * @param asked the planned `updatedSince`
 * @param elapsed time since the previous run began, ms
 * @param serviceNow current time on the service's clock, milliseconds since 1970
 */
export function updatedSinceAfterSetback(
  asked: UtcSeconds,
  elapsed: number,
  serviceNow: number,
  sync: Pick<SyncSettings, 'overlapMs'>,
): UtcSeconds | null {
  // Start of the previous run on the service's current clock.
  const since = updatedSinceFor(serviceNow - elapsed, sync);
  const covered = Math.max(sync.overlapMs, CLOCK_NOISE_MS);
  return fromUtcSeconds(since) < fromUtcSeconds(asked) - covered ? since : null;
}

/**
 * The next checkpoint: the start of the run minus the overlap, but never earlier than the current checkpoint. A run whose
 * `updatedSince` is later than the checkpoint does not move it (docs/explanation/architecture.md#checkpoint).
 *
 * @param asked the run's `updatedSince`; `null` for a full read
 */
export function nextCheckpoint(
  clocks: RunClocks,
  sync: Pick<SyncSettings, 'clock' | 'overlapMs'>,
  checkpoint: UtcSeconds | null,
  asked: UtcSeconds | null,
): UtcSeconds {
  if (checkpoint !== null && asked !== null && asked > checkpoint) return checkpoint;
  const next = updatedSinceFor(runStart(clocks, sync.clock), sync);
  return checkpoint !== null && checkpoint > next ? checkpoint : next;
}

/** A time span whose changes are no longer in any list (docs/explanation/semantics.md#windows). */
export interface Gap {
  readonly from: UtcSeconds;
  readonly to: UtcSeconds;
}

/** The time span that a windowed resource missed between its checkpoint and the start of its window; `null` for none. */
export function windowGap(
  checkpoint: UtcSeconds | null,
  windowMs: number | null,
  clocks: RunClocks,
): Gap | null {
  if (checkpoint === null || windowMs === null) return null;
  const edge = (clocks.serviceStart ?? clocks.startedAt) - windowMs;
  return fromUtcSeconds(checkpoint) < edge ? { from: checkpoint, to: toUtcSeconds(edge) } : null;
}
