import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ChildWorkflowCancellationType,
  type ChildWorkflowOptions,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  type SignalDefinition,
  startChild,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';
import { HOUR_MS, MINUTE_MS } from '../../src/core/duration.js';

/** Far below the server's own suggestion, so that a history stays quick to read and to replay. */
const MAX_EVENTS = 1000;

/** Whether the history is long enough to continue as new. @param maxEvents the same in every version */
export function shouldContinueAsNew(maxEvents: number = MAX_EVENTS): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents;
}

/**
 * Time until a request without an answer is sent again, in case its receiver was terminated; ms. It doubles up to an hour.
 *
 * @param first the first of these times, the same in every version
 */
export function nextResendMs(previous: number | null = null, first: number = 5 * MINUTE_MS): number {
  return previous === null ? first : Math.min(2 * previous, HOUR_MS);
}

/** Starts for one signal. */
const MAX_STARTS = 2;

/** A workflow that outlives its starter. */
interface LongLived<W extends Workflow> {
  readonly workflow: W;
  readonly workflowId: string;
  readonly args: Parameters<W>;
  readonly staticSummary: string;
  readonly memo: NonNullable<ChildWorkflowOptions['memo']>;
}

/**
 * Signals a workflow. If that fails, it starts the workflow, unless it is running, and signals again. It usually runs, and a
 * signal takes fewer events than a start that fails. If the workflow completes between start and signal, both are repeated
 * once.
 *
 * @throws the error of the last signal
 */
export async function signalOrStart<W extends Workflow, Argument>(
  longLived: LongLived<W>,
  signal: SignalDefinition<[Argument]>,
  argument: Argument,
): Promise<void> {
  const handle = getExternalWorkflowHandle(longLived.workflowId);
  for (let starts = 0; ; starts++) {
    try {
      await handle.signal(signal, argument);
      return;
    } catch (error) {
      // The SDK has no error class for a workflow that is not running.
      if (isCancellation(error) || starts === MAX_STARTS) throw error;
    }
    await ensureStarted(longLived);
  }
}

/** Starts a workflow, unless it is running. @returns whether it was started */
export async function ensureStarted<W extends Workflow>({
  workflow,
  ...options
}: LongLived<W>): Promise<boolean> {
  try {
    await startChild(workflow as Workflow, {
      ...options,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      // Otherwise the cancellation of the starter would cancel this workflow too.
      cancellationType: ChildWorkflowCancellationType.ABANDON,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}
