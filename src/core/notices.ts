/**
 * The rules by which change notices of one resource become runs. A notice is a hint: a run that begins after it
 * satisfies it, and one that began before does not. Pure: the workflow sandbox imports this file. Times are
 * milliseconds since 1970.
 */
import type { ExportPlan, NoticesState } from './contract.js';

/** So long it must be quiet before a run is asked for. */
export const QUIET_MS = 5_000;
/** So long the oldest notice waits for quiet. */
export const LONGEST_WAIT_MS = 30_000;

/** Events at which the workflow that gathers notices continues as new. */
export const NOTICE_EVENTS = 1_000;
/**
 * At so many events its workers must have stopped: what came since the workflow should have continued are signals
 * that it has not seen yet, and the run that they lead to will begin later than now.
 */
export const UNSEEN_NOTICE_EVENTS = 1_500;

export function newNotices(connection: string, resource: string): NoticesState {
  return { connection, resource, owed: null, asked: null, restUntil: 0, runs: 0 };
}

/** A notice came. */
export function noticed(state: NoticesState, now: number): NoticesState {
  return { ...state, owed: { firstAt: state.owed?.firstAt ?? now, lastAt: now } };
}

/** What is to be done next. */
export type NextStep =
  | { readonly kind: 'await-answer' }
  | { readonly kind: 'ask' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Until a notice comes: the time until then keeps the runs apart. */
  | { readonly kind: 'rest'; readonly ms: number }
  | { readonly kind: 'end' };

/** At most one run is asked for at a time, and at most one more is owed. */
export function nextStep({ owed, asked, restUntil }: NoticesState, now: number): NextStep {
  if (asked !== null) return { kind: 'await-answer' };
  if (owed === null) return now < restUntil ? { kind: 'rest', ms: restUntil - now } : { kind: 'end' };
  const due = Math.max(restUntil, Math.min(owed.lastAt + QUIET_MS, owed.firstAt + LONGEST_WAIT_MS));
  return now < due ? { kind: 'wait', ms: due - now } : { kind: 'ask' };
}

/** A run is asked for: whatever came before is in its care. */
export function askedFor(state: NoticesState, plan: ExportPlan, now: number): NoticesState {
  const { giveUpAfterMs, minIntervalMs, notify } = plan;
  const kept = { giveUpAfterMs, minIntervalMs, ...(notify === undefined ? {} : { notify }) };
  const number = state.runs + 1;
  return {
    ...state,
    owed: null,
    asked: { number, at: now, plan: kept, sent: null },
    runs: number,
  };
}

/**
 * The run that was asked for has ended. What came after it was asked for and before it began, while the mirror was
 * busy with others, it has satisfied too. The notices in a failed run's care are not asked for again: the
 * mirror has tried for as long as it is configured to, and the next poll reads the same changes.
 *
 * @param beganAfter a time before which a run that was published did not begin; `null` for a run that was not
 */
export function answered(state: NoticesState, beganAfter: number | null, now: number): NoticesState {
  const { owed, asked } = state;
  const satisfied = owed !== null && beganAfter !== null && owed.lastAt < beganAfter;
  return {
    ...state,
    owed: satisfied ? null : owed,
    asked: null,
    restUntil: now + (asked?.plan.minIntervalMs ?? 0),
  };
}
