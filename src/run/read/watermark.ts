import type { EpochMs, UtcSeconds } from '../../core/brands.js';
import { DAY_MS, HOUR_MS } from '../../core/duration.js';
import type { SyncSettings } from '../../core/settings.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { ClockName } from '../../core/warnings.js';
import type { Gap } from '../../lake/documents/document-schemas.js';
import type { ClockTimes } from '../../lake/documents/manifest.js';
import type { RunClocks, RunFile } from '../../lake/documents/run-file.js';

interface StartClocks {
  /** Start of the run on the workflow's clock. */
  readonly startedAt: EpochMs;
  /** The service's clock when the run's first request was sent; `null` without a `Date` header. */
  readonly serviceStart: EpochMs | null;
  /** The other clocks before the run's first request. */
  readonly others: RunClocks | undefined;
}

/** The clocks that tell when a run began. @param serviceStart see `StartClocks` */
export function startClocks(
  { readSince, clocks }: Pick<RunFile, 'readSince' | 'clocks'>,
  serviceStart: number | null,
): StartClocks {
  return { startedAt: readSince, serviceStart, others: clocks };
}

/**
 * The service's clock when a request was sent. `Date` is the time of the response, and a service that needs minutes for it does
 * not show what changed meanwhile. Both are in whole seconds, as `Date` is: the overlap is at least one.
 */
export function serviceClockAtRequest({
  serviceDate,
  durationMs,
}: {
  readonly serviceDate: number | null;
  readonly durationMs: number;
}): number | null {
  return serviceDate === null ? null : serviceDate - 1000 * Math.floor(durationMs / 1000);
}

/**
 * What the service's time may be at one moment. By default its own clock or the workflow's. Without its own, any that is known
 * (docs/explanation/guarantees.md#watermark).
 */
export function countedTimes(
  { startedAt, serviceStart, others }: StartClocks,
  clock: SyncSettings['clock'],
): readonly number[] {
  if (serviceStart === null) return [startedAt, ...knownTimes(others)];
  return clock === 'service' ? [serviceStart] : [startedAt, serviceStart];
}

/** Start of the run: the earliest time that counts, which is always safe. */
export function runStart(clocks: StartClocks, clock: SyncSettings['clock']): number {
  return Math.min(...countedTimes(clocks, clock));
}

/** The times that clocks show. @param clocks absent: none is known */
function knownTimes(clocks: RunClocks | undefined): number[] {
  return clocks === undefined ? [] : namedTimes(clocks).map(({ at }) => at);
}

function namedTimes({
  temporal,
  worker,
  store,
}: RunClocks): { readonly name: ClockName; readonly at: number }[] {
  return [
    { name: 'temporal', at: temporal },
    { name: 'worker', at: worker },
    ...(store === null ? [] : [{ name: 'store', at: store } as const]),
  ];
}

/** Clocks this far apart are a mistake of somebody. An hour less than a day: they are not read at exactly the same moment. */
const DAY_OFF_MS = DAY_MS - HOUR_MS;

/** How far apart the clocks of a run are that depends on all of them; `null`: they agree. */
export function clockDifference(
  clocks: RunClocks,
): { readonly hours: number; readonly ahead: ClockName; readonly behind: ClockName } | null {
  const times = namedTimes(clocks).sort((a, b) => a.at - b.at);
  const [first, last] = [times[0]!, times.at(-1)!];
  if (last.at - first.at < DAY_OFF_MS) return null;
  return { hours: Math.round((last.at - first.at) / HOUR_MS), ahead: last.name, behind: first.name };
}

/**
 * The smallest overlap. The API does not say whether `updatedSince` includes its own second, and a service may store
 * times in whole seconds.
 */
const MIN_OVERLAP_MS = 1000;

/** The `updatedSince` that fetches every change since a time. */
export function updatedSinceFor(start: EpochMs, { overlapMs }: Pick<SyncSettings, 'overlapMs'>): UtcSeconds {
  return toUtcSeconds(start - Math.max(overlapMs, MIN_OVERLAP_MS));
}

/**
 * The `updatedSince` to use if a clock was set back since the moment when everything was last read. Later changes may then
 * have earlier times than rows that were already read. The time that has passed is not known if the workflow's clock has gone
 * back behind that moment, or if the service has stopped sending its clock. Then everything must be read.
 *
 * @param asked the planned `updatedSince`
 * @param upTo everything that was changed before this moment was read
 * @returns `asked` if no clock was set back, or the service's by no more than the overlap covers; `null`: read everything.
 *   Never later than `asked`
 */
export function updatedSinceAfterSetback(
  asked: UtcSeconds,
  upTo: ClockTimes,
  now: ClockTimes,
  sync: Pick<SyncSettings, 'overlapMs'>,
): UtcSeconds | null {
  const elapsed = now.workflow - upTo.workflow;
  if (elapsed < 0) return null;
  if (now.service === null) return upTo.service === null ? asked : null;
  // The moment on the service's current clock. The checkpoint may be later than it, because it never moves back.
  const start = Math.min(now.service - elapsed, upTo.service ?? Number.POSITIVE_INFINITY);
  return Date.parse(asked) <= start - MIN_OVERLAP_MS ? asked : updatedSinceFor(start, sync);
}

/**
 * Everything that was changed before this moment is read after a run. A run whose `updatedSince` is later than the checkpoint has read
 * only a part.
 *
 * @param began the first response of the run
 */
export function nextReadUpTo(
  before: ClockTimes | null,
  began: ClockTimes,
  checkpoint: UtcSeconds | null,
  asked: UtcSeconds | null,
): ClockTimes {
  return before !== null && isPartial(checkpoint, asked) ? before : began;
}

/** Whether a run begins later than the checkpoint, so that it does not read all changes. @param asked its `updatedSince` */
export function isPartial(checkpoint: UtcSeconds | null, asked: UtcSeconds | null): boolean {
  return checkpoint !== null && asked !== null && asked > checkpoint;
}

/**
 * The next checkpoint: the start of the run minus the overlap, but never earlier than the current checkpoint. A run whose
 * `updatedSince` is later than the checkpoint does not move it (docs/explanation/how-it-works.md#checkpoint).
 *
 * @param asked the run's `updatedSince`; `null` for a full read
 */
export function nextCheckpoint(
  clocks: StartClocks,
  sync: Pick<SyncSettings, 'clock' | 'overlapMs'>,
  checkpoint: UtcSeconds | null,
  asked: UtcSeconds | null,
): UtcSeconds {
  if (checkpoint !== null && isPartial(checkpoint, asked)) return checkpoint;
  const next = updatedSinceFor(runStart(clocks, sync.clock), sync);
  return checkpoint !== null && checkpoint > next ? checkpoint : next;
}

/** The time span that a windowed resource missed between its checkpoint and the start of its window; `null` for none. */
export function windowGap(
  checkpoint: UtcSeconds | null,
  windowMs: number | null,
  clocks: Pick<StartClocks, 'startedAt' | 'serviceStart'>,
): Gap | null {
  if (checkpoint === null || windowMs === null) return null;
  const edge = (clocks.serviceStart ?? clocks.startedAt) - windowMs;
  return Date.parse(checkpoint) < edge ? { from: checkpoint, to: toUtcSeconds(edge) } : null;
}
