import { metricMeter } from '@temporalio/workflow';
import type { RunReport } from '../../src/core/contract/index.js';
import { METRICS } from '../../src/core/metrics.js';

/**
 * Counts an ended run, whatever its outcome. The mirror does this because only it sees the end of every run. Metrics are
 * not in the history, and a replay does not count a run again.
 *
 * @param durationMs milliseconds
 */
export function countRun(connection: string, { resource, outcome }: RunReport, durationMs: number): void {
  const { runs, runSeconds } = METRICS;
  const labels = { connection, resource, outcome };
  metricMeter.createCounter(runs.name, runs.unit, runs.description).add(1, labels);
  metricMeter
    .createHistogram(runSeconds.name, 'float', runSeconds.unit, runSeconds.description)
    .record(Math.max(0, durationMs) / 1000, labels);
}
