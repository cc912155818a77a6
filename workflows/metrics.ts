import { metricMeter } from '@temporalio/workflow';
import type { RunReport } from '../src/core/contract.js';
import { METRICS } from '../src/core/metrics.js';

/**
 * Counts a run that has ended, however it did: only the mirror sees each one's end. Nothing of it is in the history, and
 * a replay does not count it again.
 *
 * @param lastedMs milliseconds
 */
export function countRun(connection: string, { resource, outcome }: RunReport, lastedMs: number): void {
  const { runs, runSeconds } = METRICS;
  const labels = { connection, resource, outcome };
  metricMeter.createCounter(runs.name, runs.unit, runs.description).add(1, labels);
  metricMeter
    .createHistogram(runSeconds.name, 'float', runSeconds.unit, runSeconds.description)
    .record(Math.max(0, lastedMs) / 1000, labels);
}
