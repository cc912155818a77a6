/**
 * The rules that turn change notices of one resource into runs. A notice is a hint: a run that starts after it satisfies
 * it, and a run that started before does not. Pure: the workflow sandbox imports this file. Times are milliseconds since
 * 1970.
 */
import type { ExportPlan, NoticesState } from '../core/contract/index.js';

/** A run is requested once no notice has arrived for this long, unless the sender chose another time. */
export const QUIET_MS = 5_000;
/** The oldest pending notice waits at most this long for a quiet period. */
export const MAX_WAIT_MS = 30_000;

/** After this many events, the workflow that collects notices continues as new. */
export const NOTICE_EVENTS = 1_000;
/**
 * At this many events the workers must be down: the workflow has not seen the signals since `NOTICE_EVENTS`. The run that
 * they lead to starts later than now, so further signals are not needed.
 */
export const UNSEEN_NOTICE_EVENTS = 1_500;

/** @param quietMs default: `QUIET_MS` */
export function newNotices(connection: string, resource: string, quietMs?: number): NoticesState {
  const state = { connection, resource, pending: null, requested: null, restUntil: 0, runs: 0 };
  return quietMs === undefined ? state : { ...state, quietMs };
}

/** A notice has arrived. */
export function noticeReceived(state: NoticesState, now: number): NoticesState {
  return { ...state, pending: { firstAt: state.pending?.firstAt ?? now, lastAt: now } };
}

/** The next action of the workflow. */
type NextStep =
  | { readonly kind: 'await-report' }
  | { readonly kind: 'request-run' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Keeps the minimum interval between runs; ends early if a notice arrives. */
  | { readonly kind: 'rest'; readonly ms: number }
  | { readonly kind: 'end' };

/** At most one run is requested at a time, and at most one more is pending. */
export function nextStep(
  { pending, requested, restUntil, quietMs = QUIET_MS }: NoticesState,
  now: number,
): NextStep {
  if (requested !== null) return { kind: 'await-report' };
  if (pending === null) return now < restUntil ? { kind: 'rest', ms: restUntil - now } : { kind: 'end' };
  const due = Math.max(restUntil, Math.min(pending.lastAt + quietMs, pending.firstAt + MAX_WAIT_MS));
  return now < due ? { kind: 'wait', ms: due - now } : { kind: 'request-run' };
}

/** A run is requested. It covers all notices that have arrived so far. */
export function runRequested(state: NoticesState, plan: ExportPlan, now: number): NoticesState {
  const { giveUpAfterMs, minIntervalMs, alerts } = plan;
  const kept = { giveUpAfterMs, minIntervalMs, alerts };
  const number = state.runs + 1;
  return {
    ...state,
    pending: null,
    requested: { number, at: now, plan: kept, sent: null },
    runs: number,
  };
}

/**
 * The requested run has ended. A published run also satisfies the notices that arrived after the request and before the
 * start of the run, while the mirror served other requests. A failed run is not requested again: the mirror has already
 * retried for the configured time, and the next scheduled run reads the same changes.
 *
 * @param startedAfter the published run did not start before this time; `null` for a run that was not published
 */
export function requestedRunEnded(
  state: NoticesState,
  startedAfter: number | null,
  now: number,
): NoticesState {
  const { pending, requested } = state;
  const satisfied = pending !== null && startedAfter !== null && pending.lastAt < startedAfter;
  return {
    ...state,
    pending: satisfied ? null : pending,
    requested: null,
    restUntil: now + (requested?.plan.minIntervalMs ?? 0),
  };
}
