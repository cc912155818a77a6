/**
 * The metrics. Their names are stable, because users' dashboards and alerts refer to them. Labels hold configuration names
 * and outcomes, and never record contents or secrets. Pure: the workflow sandbox imports this file.
 */

interface ResourceLabels {
  readonly connection: string;
  /** Only metrics `per: 'resource'` have it. */
  readonly resource: string;
  /** One of a few fixed values; see the description of each metric. */
  readonly outcome?: string;
}

/** The labels of `worktrack_build_info`. */
interface BuildLabels {
  readonly version: string;
  readonly node_version: string;
}

/** The labels of other metrics `per: 'worker'`. */
interface WorkerLabels {
  readonly namespace: string;
}

export type MetricLabels = ResourceLabels | BuildLabels | WorkerLabels;

export interface MetricDefinition {
  readonly name: string;
  readonly kind: 'counter' | 'gauge';
  /** The labels: `resource` has `connection` and `resource`, `connection` only the former, `worker` its own. */
  readonly per: 'resource' | 'connection' | 'worker';
  readonly unit: string;
  readonly description: string;
}

const runCounter = metric('counter', 'resource');
const gauge = metric('gauge', 'resource');
const counter = metric('counter', 'connection');
const batchGauge = metric('gauge', 'connection');
const workerCounter = metric('counter', 'worker');
const workerGauge = metric('gauge', 'worker');

/**
 * A server of metrics pays for each series of each connection. So only what an alert needs has the label `resource`, and
 * durations are sums of seconds instead of histograms: a connection with four resources has at most 66 series.
 */
export const METRICS = {
  runs: runCounter('runs_total', 'runs', 'Ended runs; outcome: published, failed, refused, cancelled'),
  runSeconds: runCounter('run_seconds_total', 's', 'Time of ended runs, from their start to their end'),
  checks: counter(
    'checks_total',
    'checks',
    'Checks before publish; outcome: passed, warned, failed, accepted, skipped',
  ),
  changedRows: counter(
    'changed_rows_total',
    'rows',
    'Published changes; outcome: inserted, updated, deleted',
  ),
  missedRows: counter(
    'missed_rows_total',
    'rows',
    'Rows that full reads found changed, and that no increment had shown',
  ),
  snapshotRows: gauge('snapshot_rows', 'rows', 'Rows of the last published snapshot, including tombstones'),
  freshness: gauge(
    'freshness_seconds',
    's',
    'Age of the checkpoint in latest.json: all changes before it are in the lake',
  ),
  neverPublished: gauge(
    'never_published',
    'resources',
    '1 for a resource without any published run, otherwise 0',
  ),
  retrying: gauge(
    'run_retrying_seconds',
    's',
    'Time since a step of the current run began to fail and to be retried; 0 if none is retried',
  ),
  pages: counter('fetched_pages_total', 'pages', 'List pages that the service returned'),
  rows: counter('fetched_rows_total', 'rows', 'Rows on these pages, before duplicates are removed'),
  bytes: counter('fetched_bytes_total', 'By', 'Bytes of these pages after decompression'),
  requests: counter(
    'requests_total',
    'requests',
    'Requests to the service; outcome: ok, throttled, transient, refused, not-found, rejected, broken-promise',
  ),
  rateLimitWaits: counter('rate_limit_waits_total', 'waits', 'Waits that the service requested'),
  rateLimitSeconds: counter('rate_limit_wait_seconds_total', 's', 'Duration of these waits'),
  mergeSeconds: counter('merge_seconds_total', 's', 'Time of merge batches: read, compare and write rows'),
  writtenRows: counter(
    'write_back_rows_total',
    'rows',
    'Rows of write-backs; outcome: created, updated, rejected, unknown, superseded, skipped',
  ),
  openBatches: batchGauge(
    'write_back_open_batches',
    'batches',
    'Write-backs that have started and not ended',
  ),
  openBatchAge: batchGauge(
    'write_back_oldest_open_batch_age_seconds',
    's',
    'Time since the oldest open write-back started; 0 if none is open',
  ),
  disconnected: workerGauge(
    'temporal_disconnected_seconds',
    's',
    'Time since Temporal began not to answer or accept this worker; 0 if it accepts it. Probed every ten seconds',
  ),
  reconnects: workerCounter(
    'temporal_reconnects_total',
    'connections',
    'Connections to Temporal that replaced an earlier one, because it failed or the credentials changed',
  ),
  buildInfo: workerGauge('build_info', 'workers', 'Always 1; the labels have the versions of the worker'),
} as const satisfies Record<string, MetricDefinition>;

export type MetricKey = keyof typeof METRICS;

/** Receives the measurements of activities. */
export interface Meter {
  /** Adds to a counter, or sets a gauge. A counter of seconds also takes fractions. @param value not negative */
  record(metric: MetricKey, value: number, labels: MetricLabels): void;
}

/** The sink that records the metrics of workflows. */
export type MetricSinks = { readonly worktrackMetrics: Pick<Meter, 'record'> };

export const NO_METER: Meter = { record() {} };

/** Makes definitions of one kind with the same labels. */
function metric(kind: MetricDefinition['kind'], per: MetricDefinition['per']) {
  return (name: string, unit: string, description: string): MetricDefinition => ({
    ...{ name: `worktrack_${name}`, kind, per, unit, description },
  });
}
