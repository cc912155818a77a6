import type { RunId } from '../../core/brands.js';
import type { RunOutcome, RunPhase, RunReport } from '../../core/contract/index.js';
import type { FollowedView } from './follow-workflow.js';
import type { AttemptFailure } from './pending-activity.js';

/** The progress of one resource of an export. */
export interface ResourceView {
  readonly resource: string;
  /** `waiting`: the mirror has not started the run, or is busy with another request. */
  readonly stage: 'waiting' | RunPhase | RunOutcome;
  readonly runId: RunId | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number | null;
  readonly pages: number;
  readonly rows: number;
  /** The time until which the service asked not to send requests, milliseconds since 1970. */
  readonly waitingUntil: number | null;
  /** Whether the store limits the requests of the current step. */
  readonly isStoreLimited: boolean;
  /** The failure of the last attempt; `null` if it did not fail. */
  readonly failure: AttemptFailure | null;
  /** `null` until the run has ended. */
  readonly report: RunReport | null;
}

/** The progress of an export. */
export interface ExportView extends FollowedView {
  /** Empty until a worker has read the configuration. */
  readonly resources: readonly ResourceView[];
}

export function waitingView(resource: string): ResourceView {
  return {
    resource,
    stage: 'waiting',
    runId: null,
    startedAt: null,
    pages: 0,
    rows: 0,
    waitingUntil: null,
    isStoreLimited: false,
    failure: null,
    report: null,
  };
}

export function reportedView(report: RunReport, before: ResourceView | undefined): ResourceView {
  return {
    ...(before ?? waitingView(report.resource)),
    stage: report.outcome,
    runId: report.runId,
    rows: report.counts?.fetched ?? before?.rows ?? 0,
    waitingUntil: null,
    isStoreLimited: false,
    failure: null,
    report,
  };
}
