/**
 * What is measured. Names are fixed: dashboards and alerts of others use them. Labels are few and hold names of the
 * configuration and outcomes, never anything of a record or a secret. Pure: the workflow sandbox imports this file.
 */

export interface MetricLabels {
  readonly connection: string;
  readonly resource: string;
  /** One of a few fixed words, see each metric. */
  readonly outcome?: string;
}

export interface MetricDefinition {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly unit: string;
  readonly description: string;
}

export const METRICS = {
  runs: counter('runs_total', 'runs', 'Runs that ended; outcome: published, failed, refused, cancelled'),
  runSeconds: histogram('run_duration_seconds', 'From the beginning of a run to its end; outcome as of runs'),
  publishes: counter('publishes_total', 'tries', 'Tries to publish; outcome: published, displaced, failed'),
  changedRows: counter(
    'changed_rows_total',
    'rows',
    'Published changes; outcome: inserted, updated, deleted',
  ),
  snapshotRows: gauge('snapshot_rows', 'rows', 'Rows of the last published snapshot, tombstones too'),
  freshness: gauge(
    'freshness_seconds',
    's',
    'Age of the checkpoint in latest.json: what changed before it is in the lake',
  ),
  pages: counter('fetched_pages_total', 'pages', 'Pages of lists that the service gave'),
  rows: counter('fetched_rows_total', 'rows', 'Rows on these pages, before duplicates are removed'),
  bytes: counter('fetched_bytes_total', 'By', 'Bytes of these pages after decompression'),
  requests: counter(
    'requests_total',
    'requests',
    'Requests to the service; outcome: ok, throttled, transient, refused, not-found, rejected, broken-promise',
  ),
  retries: counter(
    'request_retries_total',
    'requests',
    'Requests that were made again after a transient failure',
  ),
  rateLimitWaits: counter(
    'rate_limit_waits_total',
    'waits',
    'Times that a request waited because the service asked for it',
  ),
  rateLimitSeconds: histogram('rate_limit_wait_seconds', 'How long these waits lasted'),
  mergeSeconds: histogram('merge_duration_seconds', 'One batch of a merge: rows read, compared and written'),
} as const satisfies Record<string, MetricDefinition>;

export type MetricKey = keyof typeof METRICS;

/** Takes what activities measure. */
export interface Meter {
  /** Adds to a counter, sets a gauge, or notes one value of a histogram. @param value not negative */
  record(metric: MetricKey, value: number, labels: MetricLabels): void;
}

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
