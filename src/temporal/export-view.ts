import type { RunId } from '../core/brands.js';
import type { RunOutcome, RunPhase, RunReport } from '../core/contract.js';
import type { FollowedView } from './follow-workflow.js';
import type { Trouble } from './pending-activity.js';

/** Where one resource of an export stands. */
export interface ResourceView {
  readonly resource: string;
  /** `waiting`: its mirror has not begun, or is busy with another request. */
  readonly stage: 'waiting' | RunPhase | RunOutcome;
  readonly runId: RunId | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number | null;
  readonly pages: number;
  readonly rows: number;
  /** Milliseconds since 1970 until which the service asked to be left alone. */
  readonly waitingUntil: number | null;
  /** What the last attempt failed with; `null` when it is all right. */
  readonly trouble: Trouble | null;
  /** There once its run is over. */
  readonly report: RunReport | null;
}

/** Where an export stands. */
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
    trouble: null,
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
    trouble: null,
    report,
  };
}
