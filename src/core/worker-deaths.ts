import type { EpochMs } from './brands.js';
import { MINUTE_MS } from './duration.js';

/** Attempts of the reading that ended with their worker, at the position where the last one began. Heartbeats carry it. */
export interface WorkerDeaths {
  /** The stage document that the attempt continued from; `null`: it began the list. */
  readonly at: string | null;
  readonly count: number;
  /** When the first of them was noticed, on Temporal's clock. */
  readonly since: EpochMs;
  /** Whether the attempt that sent this had neither ended nor failed. */
  readonly isRunning: boolean;
}

/** Deaths at one position before the list is read again with half the page. */
const DEATHS_PER_SIZE = 3;
/** Deaths at one position that end a run, if they took at least so long, ms. */
const FATAL = { deaths: 10, ms: 30 * MINUTE_MS };

/**
 * The deaths at the position where an attempt begins. At a later position, the count starts at zero again.
 *
 * @param before what the last heartbeat of the attempt before said
 */
export function deathsBefore(
  before: WorkerDeaths | undefined,
  at: string | null,
  now: EpochMs,
): WorkerDeaths {
  const died = before?.isRunning === true ? 1 : 0;
  const isSame = before?.at === at && before.count > 0;
  return {
    ...{ at, isRunning: true },
    ...(isSame ? { count: before.count + died, since: before.since } : { count: died, since: now }),
  };
}

/** How often the page size is halved because of these deaths. */
export function halvings({ count }: WorkerDeaths): number {
  return Math.floor(count / DEATHS_PER_SIZE);
}

/** Whether the run fails, because no worker survives this position. */
export function areFatal({ count, since }: WorkerDeaths, now: EpochMs): boolean {
  return count >= FATAL.deaths && now - since >= FATAL.ms;
}
