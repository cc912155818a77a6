import { expect } from 'vitest';

/** Five seconds after its first page, a run leaves the worker's memory (`src/run/memory-staging.ts`) and continues in the lake. */
const MAX_AGE_MS = 5000;

/**
 * Expects that a run took one activity, unless the machine was so slow that the run has left the memory.
 *
 * @param activities of the run, by type
 * @param tookMs from the request of the run to its result
 */
export function expectOneActivity(activities: readonly string[], tookMs: number): void {
  if (tookMs < MAX_AGE_MS) expect(activities).toEqual(['worktrack.run']);
  else expect(activities[0]).toBe('worktrack.run');
}
