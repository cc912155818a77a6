import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  ChildWorkflowCancellationType,
  type ChildWorkflowOptions,
  getExternalWorkflowHandle,
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

/** A workflow that outlives its starter. */
interface LongLived<W extends Workflow> {
  readonly workflow: W;
  readonly workflowId: string;
  readonly args: Parameters<W>;
  readonly staticSummary: string;
  readonly memo: NonNullable<ChildWorkflowOptions['memo']>;
}

/**
 * Signals a workflow, and starts it if it is not running. It usually runs, and a signal takes fewer events than a start that
 * fails. If the workflow completes between start and signal, both are repeated once.
 *
 * @throws the error of the second signal
 */
export async function signalOrStart<W extends Workflow, Argument>(
  longLived: LongLived<W>,
  signal: SignalDefinition<[Argument]>,
  argument: Argument,
): Promise<void> {
  try {
    await getExternalWorkflowHandle(longLived.workflowId).signal(signal, argument);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await startAndSignal(longLived, signal, argument);
  }
}

async function startAndSignal<W extends Workflow, Argument>(
  longLived: LongLived<W>,
  signal: SignalDefinition<[Argument]>,
  argument: Argument,
): Promise<void> {
  const handle = getExternalWorkflowHandle(longLived.workflowId);
  await ensureStarted(longLived);
  try {
    await handle.signal(signal, argument);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await ensureStarted(longLived);
    await handle.signal(signal, argument);
  }
}

async function ensureStarted<W extends Workflow>({ workflow, ...options }: LongLived<W>): Promise<void> {
  try {
    await startChild(workflow as Workflow, {
      ...options,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      // Otherwise the cancellation of the starter would cancel this workflow too.
      cancellationType: ChildWorkflowCancellationType.ABANDON,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** The SDK has no error class for this case; its core only sets this text. */
function isNotFound(error: unknown): boolean {
  return error instanceof ApplicationFailure && /not found/.test(error.message);
}
