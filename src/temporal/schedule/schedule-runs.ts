import { type ScheduleExecutionResult, WorkflowNotFoundError } from '@temporalio/client';
import type { RunOutcome } from '../../core/contract/index.js';
import type { TemporalClient } from '../client/connect.js';
import { exportResultOf } from '../client/export-result.js';

/** A run that a Schedule started. */
export interface ScheduledRun {
  readonly workflowId: string;
  /** The nominal start time. */
  readonly scheduledAt: Date;
  readonly startedAt: Date;
  /** `gone`: the server no longer retains the workflow. */
  readonly outcome: RunOutcome | 'running' | 'gone';
}

/** The outcome of a run that a Schedule started. */
export async function scheduledRun(
  temporal: TemporalClient,
  { scheduledAt, takenAt, action }: ScheduleExecutionResult,
): Promise<ScheduledRun> {
  const { workflowId, firstExecutionRunId } = action.workflow;
  const outcome = await outcomeOf(temporal, workflowId, firstExecutionRunId);
  return { workflowId, scheduledAt, startedAt: takenAt, outcome };
}

async function outcomeOf(
  temporal: TemporalClient,
  workflowId: string,
  runId: string,
): Promise<ScheduledRun['outcome']> {
  const handle = temporal.client.workflow.getHandle(workflowId, runId);
  try {
    const { status } = await handle.describe();
    if (status.name === 'RUNNING') return 'running';
    if (status.name === 'COMPLETED') return 'published';
    await handle.result();
    return 'published';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    return exportResultOf(error, []).outcome;
  }
}
