import type { EpochMs, Millis } from '../brands.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../duration.js';
import type { Activities, PhaseName } from './activities.js';
import type { RunPhase } from './mirror-state.js';

/** Limits of an activity, under the names of Temporal's options; milliseconds. */
export interface ActivityLimits {
  readonly startToCloseTimeout: number;
  readonly scheduleToStartTimeout?: number;
  readonly scheduleToCloseTimeout?: number;
  readonly heartbeatTimeout?: number;
  readonly retry: {
    readonly initialInterval: number;
    readonly maximumInterval: number;
    readonly maximumAttempts?: number;
  };
}

/** What is known about an activity. Each takes one slot of its worker. The worker reserves the same memory for each slot. */
export interface ActivityFacts {
  /** As in logs and traces. `run`: a whole run, whose log lines name the phase that it is in. */
  readonly phase: RunPhase | 'run' | 'plan' | 'notify' | 'write-back';
  /**
   * The place of a step in its run or batch, which keeps one configuration from its first to its last step. Each attempt of
   * the first step takes the current one. Absent: the activity is no such step, or has the whole run to itself.
   */
  readonly step?: 'first' | 'middle' | 'last';
  /** The request to a mirror that this activity is the first of. Absent: it is the first of none. */
  readonly begins?: 'run' | 'purge';
  /** Whether its heartbeats are a `ReadHeartbeat`. Absent: no. */
  readonly isReading?: true;
  /** Whether it always gives way to work that someone waits for. Absent: it has the priority of the request that it works for. */
  readonly isBackground?: true;
  /**
   * How `retries.giveUpAfter` limits it, in place of `limits`: its time, or the number of its attempts, one for each minute and
   * at least three. Absent: it does not.
   */
  readonly giveUp?: 'time' | 'attempts';
  readonly limits: ActivityLimits;
}

/** A worker without a heartbeat for this long counts as lost. */
const HEARTBEAT = { heartbeatTimeout: 10 * SECOND_MS } as const;

/** The retries of all steps of a run: the wait doubles from one second to one minute. */
export const RETRY = { initialInterval: SECOND_MS, maximumInterval: MINUTE_MS } as const;

/** Work on the lake has no total time limit: the heartbeat detects a lost worker, and the number of attempts is limited. */
const LAKE_WORK: ActivityLimits = { ...HEARTBEAT, startToCloseTimeout: DAY_MS, retry: RETRY };

/** A phase of a run in the lake. */
function lakePhase(phase: RunPhase): ActivityFacts {
  return { phase, step: 'middle', giveUp: 'attempts', limits: LAKE_WORK };
}

/** Work of a write-back on the lake. It gives up after six hours of failures. */
function batchStep(step: ActivityFacts['step'] & string): ActivityFacts {
  const limits = { ...LAKE_WORK, retry: { ...RETRY, maximumAttempts: 360 } };
  return { phase: 'write-back', step, limits };
}

/** Attempts are limited, and not the time: with many connections, it can take long until a worker is free. */
function whenFree(
  startToCloseTimeout: number,
  maximumInterval: number,
  maximumAttempts: number,
): ActivityLimits {
  const retry = { initialInterval: SECOND_MS, maximumInterval, maximumAttempts };
  return { startToCloseTimeout, scheduleToCloseTimeout: DAY_MS, retry };
}

/** All activities, by name. Workers, workflows and clients read what they need from this table. */
export const ACTIVITIES: Readonly<Record<keyof Activities, ActivityFacts>> = {
  'worktrack.planExport': { phase: 'plan', limits: whenFree(MINUTE_MS, 30 * SECOND_MS, 20) },
  /**
   * Requested before the workflow knows the configuration. The activity itself gives up after `retries.giveUpAfter`; these
   * limits are for absent or crashing workers.
   */
  'worktrack.run': {
    ...{ phase: 'run', step: 'first', begins: 'run', isReading: true },
    limits: {
      ...HEARTBEAT,
      startToCloseTimeout: 30 * MINUTE_MS,
      scheduleToStartTimeout: 6 * HOUR_MS,
      scheduleToCloseTimeout: 30 * DAY_MS,
      retry: RETRY,
    },
  },
  'worktrack.read': { ...lakePhase('read'), isReading: true, giveUp: 'time' },
  'worktrack.settleById': { ...lakePhase('settle'), giveUp: 'time' },
  'worktrack.settle': lakePhase('settle'),
  'worktrack.mergePlan': lakePhase('merge'),
  'worktrack.merge': lakePhase('merge'),
  'worktrack.publish': lakePhase('publish'),
  'worktrack.preview': lakePhase('publish'),
  'worktrack.writeAudit': { phase: 'plan', limits: { ...whenFree(MINUTE_MS, MINUTE_MS, 30) } },
  /** Its failure does not fail the run, and the next step of the mirror catches up. */
  'worktrack.followTable': {
    phase: 'follow',
    limits: { ...LAKE_WORK, scheduleToCloseTimeout: DAY_MS, retry: { ...RETRY, maximumAttempts: 15 } },
  },
  'worktrack.followOnPublished': {
    ...{ phase: 'follow', isBackground: true },
    limits: { ...HEARTBEAT, ...whenFree(10 * MINUTE_MS, 30 * SECOND_MS, 20) },
  },
  'worktrack.sweep': {
    ...{ phase: 'sweep', step: 'last' },
    limits: {
      ...HEARTBEAT,
      startToCloseTimeout: HOUR_MS,
      scheduleToCloseTimeout: 2 * HOUR_MS,
      retry: RETRY,
    },
  },
  /** A failed run waits for this before it is answered. What is left, the next published run removes. */
  'worktrack.sweepFailedRun': {
    ...{ phase: 'sweep', step: 'last', isBackground: true },
    limits: {
      ...HEARTBEAT,
      startToCloseTimeout: 10 * MINUTE_MS,
      scheduleToCloseTimeout: 10 * MINUTE_MS,
      retry: { initialInterval: SECOND_MS, maximumInterval: 10 * SECOND_MS, maximumAttempts: 3 },
    },
  },
  'worktrack.purgeRecord': {
    ...{ phase: 'purge', begins: 'purge' },
    limits: { ...LAKE_WORK, scheduleToCloseTimeout: DAY_MS },
  },
  'worktrack.planWriteBack': batchStep('first'),
  'worktrack.claimRows': batchStep('middle'),
  /** It gives up by itself as well (`sendRows`). */
  'worktrack.sendRows': {
    ...batchStep('middle'),
    limits: { ...LAKE_WORK, scheduleToCloseTimeout: 30 * DAY_MS },
  },
  'worktrack.writeResults': batchStep('last'),
  'worktrack.confirmRows': { phase: 'write-back', isBackground: true, limits: batchStep('last').limits },
  'worktrack.reportAlerts': {
    phase: 'notify',
    isBackground: true,
    limits: whenFree(30 * SECOND_MS, 10 * SECOND_MS, 6),
  },
  'worktrack.watch': {
    phase: 'notify',
    isBackground: true,
    limits: {
      startToCloseTimeout: 5 * MINUTE_MS,
      scheduleToCloseTimeout: 2 * HOUR_MS,
      retry: { initialInterval: 5 * SECOND_MS, maximumInterval: MINUTE_MS, maximumAttempts: 6 },
    },
  },
  /** A receiver that is down for a day misses a run. */
  'worktrack.announce': {
    phase: 'notify',
    isBackground: true,
    limits: {
      startToCloseTimeout: MINUTE_MS,
      scheduleToCloseTimeout: DAY_MS,
      retry: { initialInterval: 5 * SECOND_MS, maximumInterval: 5 * MINUTE_MS },
    },
  },
  /** A message that cannot be sent is made again later, with what has happened until then. */
  'worktrack.notify': {
    phase: 'notify',
    limits: {
      startToCloseTimeout: MINUTE_MS,
      scheduleToCloseTimeout: 2 * HOUR_MS,
      retry: { initialInterval: 5 * SECOND_MS, maximumInterval: 2 * MINUTE_MS, maximumAttempts: 8 },
    },
  },
};

/**
 * The time that a phase has, which is requested at `from`. `retries.giveUpAfter` counts from the start of the run. A run
 * that has been busy for longer still gets up to an hour for each call, so that a short failure does not end it.
 *
 * @param run when it began, and how long it retries
 */
export function timeGiven(
  { startedAt, giveUpAfterMs }: { readonly startedAt: EpochMs; readonly giveUpAfterMs: Millis },
  from: EpochMs,
): Millis {
  return Math.max(startedAt + giveUpAfterMs - from, Math.min(giveUpAfterMs, HOUR_MS));
}

/** A phase of a run as it is shown. */
export function runPhaseOf(phase: PhaseName): RunPhase {
  return ACTIVITIES[`worktrack.${phase}`].phase as RunPhase;
}

/** @returns undefined for an activity of another package */
export function activityFacts(activityType: string): ActivityFacts | undefined {
  return Object.hasOwn(ACTIVITIES, activityType) ? ACTIVITIES[activityType as keyof Activities] : undefined;
}
