import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type { Activities, MirrorState, NotifyInput, RunReport } from '../src/core/contract.js';
import { eventOf } from '../src/core/notify.js';
import { toRunError } from './failures.js';

const { 'worktrack.notify': notify } = proxyActivities<Activities>({
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '2 seconds', maximumInterval: '1 minute', maximumAttempts: 6 },
});

/**
 * A run has ended: what that changes in the mirror's state, and who is to be told, if the configuration asks for it.
 *
 * @param told resolves when it was sent or given up; never rejects. `null`: nobody is told
 */
export function runEnded(
  { notify: wanted, failing: before, connection }: MirrorState,
  report: RunReport,
): { readonly changes: Partial<MirrorState>; readonly told: Promise<void> | null } {
  const { event, failing } = eventOf(before === true, report.outcome);
  // A state that never failed stays as it was before there were notifications.
  const changes = failing === (before === true) ? {} : { failing };
  if (event === null || wanted?.includes(event) !== true) return { changes, told: null };
  const { resource, outcome, runId, error } = report;
  return { changes, told: tell({ connection, resource, event, outcome, runId, error, at: Date.now() }) };
}

/** Nobody's run fails because nobody could be told of it. */
async function tell(input: NotifyInput): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() => notify(input));
  } catch (error) {
    const { connection, resource, event } = input;
    log.warn('nobody could be told of a run', {
      connection,
      resource,
      event,
      error: toRunError(error).message,
    });
  }
}
