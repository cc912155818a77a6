import { CancellationScope, log, proxyActivities, proxySinks, workflowInfo } from '@temporalio/workflow';
import type { Activities, MirrorState, NotifyInput, RunReport } from '../../src/core/contract/index.js';
import type { MetricSinks } from '../../src/core/metrics.js';
import { eventOf } from '../../src/core/notify.js';
import { toRunError } from '../shared/failures.js';
import { priorityOf } from '../shared/priority.js';

const NOTIFY = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '2 seconds', maximumInterval: '1 minute', maximumAttempts: 6 },
} as const;

/**
 * Counts an ended run, whatever its outcome. The mirror does this because only it sees the end of every run. Metrics are
 * not in the history, and a replay does not count a run again.
 *
 * @param durationMs milliseconds
 */
export function countRun(connection: string, { resource, outcome }: RunReport, durationMs: number): void {
  // A worker that only replays has no such sink.
  if (workflowInfo().unsafe.isReplaying) return;
  const { worktrackMetrics } = proxySinks<MetricSinks>();
  const labels = { connection, resource, outcome };
  worktrackMetrics.record('runs', 1, labels);
  worktrackMetrics.record('runSeconds', durationMs / 1000, labels);
}

/**
 * Updates the failure state after a run, and sends a notification if the configuration asks for one.
 *
 * @returns `notification` resolves once the notification is sent or has failed, and never rejects; `null`: none is due
 */
export function notifyRunEnded(
  { notify: wanted, failing: before, connection }: MirrorState,
  report: RunReport,
): { readonly changes: Partial<MirrorState>; readonly notification: Promise<void> | null } {
  const { event, failing } = eventOf(before === true, report.outcome);
  // A mirror that never failed has no such field.
  const changes = failing === (before === true) ? {} : { failing };
  if (event === null || wanted?.includes(event) !== true) return { changes, notification: null };
  const { resource, outcome, runId, error } = report;
  const input = { connection, resource, event, outcome, runId, error, at: Date.now() };
  return { changes, notification: sendNotification(input) };
}

/** A failed notification does not fail the run. */
async function sendNotification(input: NotifyInput): Promise<void> {
  const priority = priorityOf(input.connection, 'background');
  const { 'worktrack.notify': notify } = proxyActivities<Activities>({ ...NOTIFY, priority });
  try {
    await CancellationScope.nonCancellable(() => notify(input));
  } catch (error) {
    const { connection, resource, event } = input;
    log.warn('the notification of a run could not be sent; the run is not affected', {
      connection,
      resource,
      event,
      error: toRunError(error).message,
    });
  }
}
