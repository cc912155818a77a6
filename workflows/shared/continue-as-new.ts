import { workflowInfo } from '@temporalio/workflow';

/** Far below the server's own suggestion, so that a history stays quick to read and to replay. */
const MAX_EVENTS = 1000;

/** Whether the history is long enough to continue as new. */
export function shouldContinueAsNew(maxEvents: number = MAX_EVENTS): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents;
}
