import { proxySinks, workflowInfo } from '@temporalio/workflow';
import type { RunReport } from '../../src/core/contract/index.js';
import type { MetricSinks } from '../../src/core/metrics.js';

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
