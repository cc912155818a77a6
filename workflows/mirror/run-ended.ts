import { proxySinks, workflowInfo } from '@temporalio/workflow';
import type { MirrorState, NotifyEvent, RunReport } from '../../src/core/contract/index.js';
import type { MetricSinks } from '../../src/core/metrics.js';
import { eventOf } from '../../src/core/notify.js';
import { sendNotification } from '../shared/notification.js';

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
  worktrackMetrics.record('runs', 1, { connection, resource, outcome });
  worktrackMetrics.record('runSeconds', durationMs / 1000, { connection, resource });
}

/**
 * Updates the failure state after a run, and sends a notification if the configuration asks for one and no sender of the
 * run's requests does it.
 *
 * @returns `event`: the event of which the sender notifies; `notification` resolves once the notification is sent or has
 *   failed, and never rejects; `null`: none is due
 */
export function notifyRunEnded(
  { notify: wanted, failing: before, connection }: MirrorState,
  report: RunReport,
  notifier: 'sender' | 'mirror',
): {
  readonly changes: Partial<MirrorState>;
  readonly event: NotifyEvent | null;
  readonly notification: Promise<void> | null;
} {
  const { event, failing } = eventOf(before, report.outcome);
  const changes = { failing };
  if (notifier === 'sender') return { changes, event, notification: null };
  if (event === null || !wanted.includes(event)) return { changes, event: null, notification: null };
  const { resource, outcome, runId, error } = report;
  const input = { connection, resource, event, outcome, runId, error, at: Date.now() };
  return { changes, event: null, notification: sendNotification(input) };
}
