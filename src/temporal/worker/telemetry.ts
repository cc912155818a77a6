import { type MetricMeter, noopMetricMeter } from '@temporalio/common';
import { type InjectedSinks, Runtime, type TelemetryOptions } from '@temporalio/worker';
import {
  METRICS,
  type Meter,
  type MetricDefinition,
  type MetricKey,
  type MetricLabels,
  type MetricSinks,
} from '../../core/metrics.js';
import type { StoreLogger } from '../../lake/store/index.js';

/**
 * `telemetryOptions.metrics` for the SDK's `Runtime.install`: a Prometheus endpoint with the metrics of this package and
 * of the SDK.
 *
 * @param bindAddress `127.0.0.1:9464`, or `[::1]:9464`
 * @example
 * Runtime.install({ telemetryOptions: { metrics: prometheusMetrics('127.0.0.1:9464') } });
 */
export function prometheusMetrics(bindAddress: string): NonNullable<TelemetryOptions['metrics']> {
  // The SDK's durations are in seconds, too, instead of its default of milliseconds.
  return { prometheus: { bindAddress, useSecondsForDurations: true } };
}

/** Whether this process's runtime exports metrics. */
export function exportsMetrics(): boolean {
  return Runtime.instance().metricMeter !== noopMetricMeter;
}

type Recorder = (value: number, labels: Record<string, string>) => void;

/** Records metrics through this process's runtime; does nothing if the runtime exports no metrics. */
export function runtimeMeter(): Meter {
  let meter: MetricMeter | null = null;
  const recorders = new Map<MetricKey, Recorder>();
  return {
    record(metric: MetricKey, value: number, labels: MetricLabels): void {
      // The runtime shuts down with its last worker; a new worker gets a new runtime.
      const now = Runtime.instance().metricMeter;
      if (meter !== now) recorders.clear();
      meter = now;
      const record = recorders.get(metric) ?? recorderOf(now, METRICS[metric]);
      recorders.set(metric, record);
      record(Math.max(0, value), labelsOf(METRICS[metric], labels));
    },
  };
}

/** Leaves out the resource of a metric that is counted per connection. */
function labelsOf({ per }: MetricDefinition, labels: MetricLabels): Record<string, string> {
  const { resource, ...others }: Record<string, string> = { ...labels };
  return per === 'connection' || resource === undefined ? others : { ...others, resource };
}

function recorderOf(meter: MetricMeter, { name, kind, unit, description }: MetricDefinition): Recorder {
  if (kind === 'gauge') {
    const gauge = meter.createGauge(name, 'float', unit, description);
    return (value, labels) => gauge.set(value, labels);
  }
  const counter = meter.createCounter(name, unit, description);
  // The SDK's counters have whole numbers. What is left of a second counts with the next value.
  const rests = new Map<string, number>();
  return (value, labels) => {
    const series = JSON.stringify(labels);
    const sum = value + (rests.get(series) ?? 0);
    rests.set(series, sum - Math.floor(sum));
    counter.add(Math.floor(sum), labels);
  };
}

/**
 * Records the metrics of workflows. Through this sink, they have only their own labels. The SDK's meter for workflows adds
 * labels such as `taskQueue` and `workflowType`, which Prometheus would write in snake case.
 */
export const metricSinks: InjectedSinks<MetricSinks> = {
  worktrackMetrics: {
    record: {
      fn: (_info, metric, value, labels) => workflowMeter.record(metric, value, labels),
      callDuringReplay: false,
    },
  },
};
const workflowMeter = runtimeMeter();

/** Writes warnings of the stores to the log of this process's runtime. */
export const runtimeLogger: StoreLogger = {
  warn: (message, fields) => Runtime.instance().logger.warn(message, { ...fields }),
};
