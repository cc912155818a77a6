/**
 * The speed of requests: additive increase, multiplicative decrease, as in TCP, because the service does not publish its
 * limits. Immutable.
 */
export interface Pace {
  /** Concurrent requests; the fraction accumulates towards the next whole one. */
  readonly concurrency: number;
  /** Requests per second; null without a limit. */
  readonly perSecond: number | null;
}

/** Lowest fraction of the configured rate. Without a lower limit, recovery would take hours. */
const LOWEST_RATE = 1 / 64;
/** Number of successes from zero to the full rate. */
const RATE_STEPS = 20;

/** Halves the pace, with at least one concurrent request. */
export function slowerPace(pace: Pace, ceiling: Pace): Pace {
  return {
    concurrency: Math.max(1, Math.floor(pace.concurrency / 2)),
    perSecond:
      pace.perSecond === null || ceiling.perSecond === null
        ? null
        : Math.max(pace.perSecond / 2, ceiling.perSecond * LOWEST_RATE),
  };
}

/** The pace after one more success. N successes at a concurrency of N allow one more concurrent request. */
export function fasterPace(pace: Pace, ceiling: Pace): Pace {
  return {
    concurrency: Math.min(ceiling.concurrency, pace.concurrency + 1 / Math.floor(pace.concurrency)),
    perSecond:
      pace.perSecond === null || ceiling.perSecond === null
        ? null
        : Math.min(ceiling.perSecond, pace.perSecond + ceiling.perSecond / RATE_STEPS),
  };
}
