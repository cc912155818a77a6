/**
 * How fast the budget lets requests out: additive increase, multiplicative decrease, as TCP does it, because a service
 * that does not publish its limits can only be felt for. Pure; the budget keeps one in a variable.
 */
export interface Pace {
  /** Requests at a time; a fraction counts towards the next whole one. */
  readonly concurrency: number;
  /** Requests per second, null where only the concurrency bounds them. */
  readonly perSecond: number | null;
}

/** The rate never falls below this part of its ceiling, or recovery would take hours. */
const LOWEST_RATE = 1 / 64;
/** So many successes lead from nothing to the full rate. */
const RATE_STEPS = 20;

/** Half of everything, and at least one request at a time. */
export function slowerPace(pace: Pace, ceiling: Pace): Pace {
  return {
    concurrency: Math.max(1, Math.floor(pace.concurrency / 2)),
    perSecond:
      pace.perSecond === null || ceiling.perSecond === null
        ? null
        : Math.max(pace.perSecond / 2, ceiling.perSecond * LOWEST_RATE),
  };
}

/** The pace after one more success: one request at a time more after as many successes as requests fit side by side. */
export function fasterPace(pace: Pace, ceiling: Pace): Pace {
  return {
    concurrency: Math.min(ceiling.concurrency, pace.concurrency + 1 / Math.floor(pace.concurrency)),
    perSecond:
      pace.perSecond === null || ceiling.perSecond === null
        ? null
        : Math.min(ceiling.perSecond, pace.perSecond + ceiling.perSecond / RATE_STEPS),
  };
}
