import type { EpochMs, UtcSeconds } from '../../core/brands.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { Shape } from './shapes.js';

/** What the time of a run's rows depends on. The fields are as in its run file. */
interface WritingTime {
  readonly startedAt: EpochMs;
  readonly shapes: readonly Pick<Shape, 'since' | 'isReturn'>[];
  readonly rollback: object | null;
}

/** The `_synced_at` of the rows that a run fetches: its start, but never a time that belongs to earlier settings. */
export function syncedAtOfRun({ startedAt, shapes, rollback }: WritingTime): UtcSeconds {
  // The last shape begins after the rows that a rollback brings back.
  const isBefore = rollback !== null && shapes.at(-2)?.isReturn === true;
  const since = shapes.at(isBefore ? -2 : -1)?.since ?? null;
  const started = toUtcSeconds(startedAt);
  return since !== null && since > started ? since : started;
}
