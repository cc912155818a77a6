/**
 * The metrics. Their names are stable, because users' dashboards and alerts refer to them. Labels hold configuration names
 * and outcomes, and never record contents or secrets. Pure: the workflow sandbox imports this file.
 */

interface ResourceLabels {
  readonly connection: string;
  readonly resource: string;
  /** One of a few fixed values; see the description of each metric. */
  readonly outcome?: string;
}

/** The labels of `worktrack_build_info`. */
interface BuildLabels {
  readonly version: string;
  readonly node_version: string;
}

export type MetricLabels = ResourceLabels | BuildLabels;

export interface MetricDefinition {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly unit: string;
  readonly description: string;
}

export const METRICS = {
  runs: counter('runs_total', 'runs', 'Ended runs; outcome: published, failed, refused, cancelled'),
  runSeconds: histogram(
    'run_duration_seconds',
    'Time from the start of a run to its end; outcome as for runs',
  ),
  publishes: counter(
    'publishes_total',
    'attempts',
    'Attempts to publish; outcome: published, displaced, failed',
  ),
  changedRows: counter(
    'changed_rows_total',
    'rows',
    'Published changes; outcome: inserted, updated, deleted',
  ),
  snapshotRows: gauge('snapshot_rows', 'rows', 'Rows of the last published snapshot, including tombstones'),
  freshness: gauge(
    'freshness_seconds',
    's',
    'Age of the checkpoint in latest.json: all changes before it are in the lake',
  ),
  neverPublished: gauge('never_published', 'resources', '1 for a resource without any published run, else 0'),
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
  retries: counter('request_retries_total', 'requests', 'Requests repeated after a transient failure'),
  rateLimitWaits: counter('rate_limit_waits_total', 'waits', 'Waits that the service requested'),
  rateLimitSeconds: histogram('rate_limit_wait_seconds', 'Duration of these waits'),
  writtenRows: counter(
    'write_back_rows_total',
    'rows',
    'Rows of write-backs; outcome: created, updated, rejected, unknown, superseded, skipped',
  ),
  openBatches: gauge('write_back_open_batches', 'batches', 'Write-backs that have started and not ended'),
  openBatchAge: gauge(
    'write_back_oldest_open_batch_age_seconds',
    's',
    'Time since the oldest open write-back started; 0 if none is open',
  ),
  buildInfo: gauge('build_info', 'workers', 'Always 1; the labels have the versions of the worker'),
  mergeSeconds: histogram('merge_duration_seconds', 'Time of one merge batch: read, compare and write rows'),
} as const satisfies Record<string, MetricDefinition>;

export type MetricKey = keyof typeof METRICS;

/** Receives the measurements of activities. */
export interface Meter {
  /** Adds to a counter, sets a gauge, or records one value in a histogram. @param value not negative */
  record(metric: MetricKey, value: number, labels: MetricLabels): void;
}

/** The sink through which workflows record metrics. */
export type MetricSinks = {
  readonly worktrackMetrics: {
    record(metric: MetricKey, value: number, labels: MetricLabels): void;
  };
};

export const NO_METER: Meter = { record() {} };

/** Upper bounds of the histograms' buckets, seconds. */
export const DURATION_BUCKETS = [0.1, 0.5, 1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 21_600] as const;

function counter(name: string, unit: string, description: string): MetricDefinition {
  return { name: `worktrack_${name}`, kind: 'counter', unit, description };
}

function gauge(name: string, unit: string, description: string): MetricDefinition {
  return { name: `worktrack_${name}`, kind: 'gauge', unit, description };
}

function histogram(name: string, description: string): MetricDefinition {
  return { name: `worktrack_${name}`, kind: 'histogram', unit: 's', description };
}
