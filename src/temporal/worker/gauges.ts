import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { EpochMs, Millis } from '../../core/brands.js';
import { RETRY } from '../../core/contract/activity-table.js';
import { WRITE_BACK_WORKFLOW } from '../../core/contract/write-back.js';
import { ageOfData } from '../../core/data-age.js';
import { MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import { inParallel } from '../../core/in-parallel.js';
import type { Meter } from '../../core/metrics.js';
import { withTimeout } from '../../core/reachability.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { readPointer } from '../../lake/documents/pointer.js';
import type { Connections } from './connections.js';

interface GaugesOptions {
  readonly connections: Connections;
  readonly meter: Meter;
  /** The worker's client, whose connection can be exchanged; `null`: no worker runs. */
  readonly client: () => Pick<Client, 'workflow'> | null;
  readonly taskQueue: string;
  readonly retries: RetryWatch;
  /** Called when a measurement begins to fail, and not again until it has succeeded. */
  readonly onError: (message: string) => void;
}

/** Lakes that are read at the same time. */
const LAKES_AT_ONCE = 8;
/** The longest time that one read holds up the lakes behind it. */
const READ_LIMIT_MS = 10 * SECOND_MS;

/**
 * Measures every minute what no activity sees: the age of each resource's data by its `latest.json`, so that the age grows while
 * nothing is published, no matter which worker published last; and the open write-backs. Each round reads one small object per
 * resource, and is one list request to Temporal. The gauges of a lake that does not answer keep their values.
 */
export function startGauges(options: GaugesOptions): { stop(): void } {
  const { connections, retries, onError } = options;
  const failing = new Set<string>();
  const openBatches = new Map<string, Open>();
  /** Lakes with a read that has not ended. */
  const pending = new Set<ConnectionSettings>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const measured = async (id: string, what: string, measure: () => Promise<void>): Promise<void> => {
    try {
      await measure();
      failing.delete(id);
    } catch (error) {
      if (!failing.has(id) && !signal.aborted) onError(`cannot ${what} ${id}: ${errorMessage(error)}`);
      failing.add(id);
    }
  };
  const readLake = async (settings: ConnectionSettings): Promise<void> => {
    const { name: connection, resources } = settings;
    for (const { name: resource } of resources) {
      // A read of a network drive that hangs cannot be ended, and holds a thread: there is at most one.
      if (signal.aborted || pending.has(settings)) return;
      await measured(`${connection}/${resource}`, 'measure the freshness of', () => {
        pending.add(settings);
        const read = measureFreshness(options, { connection, resource }, signal).finally(() =>
          pending.delete(settings),
        );
        return withTimeout(read, READ_LIMIT_MS);
      });
    }
  };
  const readLakes = oneAtATime(() => inParallel(connections.settings.connections, LAKES_AT_ONCE, readLake));
  const countBatches = oneAtATime(() =>
    measured('open write-backs', 'count the', () => measureOpenBatches(options, openBatches, signal)),
  );
  const measure = (): void => {
    for (const { name: connection, resources } of connections.settings.connections)
      for (const { name: resource } of resources) retries.measure({ connection, resource });
    readLakes();
    countBatches();
  };
  measure();
  const timer = setInterval(measure, MINUTE_MS);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}

/** Starts work, except while it is in progress: a round over many connections can take longer than the interval. */
function oneAtATime(work: () => Promise<unknown>): () => void {
  let isRunning = false;
  return () => {
    if (isRunning) return;
    isRunning = true;
    void work().finally(() => {
      isRunning = false;
    });
  };
}

/** @param signal aborted when the worker stops: a metric would then start another runtime of the SDK */
async function measureFreshness(
  { connections, meter }: GaugesOptions,
  labels: Labels,
  signal: AbortSignal,
): Promise<void> {
  const { connection, resource } = labels;
  // The connection must stay open during the read, even if the configuration changes.
  const pointer = await connections.during('freshness', null, () =>
    readPointer(connections.connection(connection).store, resource, signal),
  );
  signal.throwIfAborted();
  meter.record('neverPublished', pointer === null ? 1 : 0, labels);
  if (pointer === null) return;
  const { checkpoint, rows } = pointer;
  const age = ageOfData(Date.parse(checkpoint.updatedSince), connections.now());
  meter.record('freshness', age / 1000, labels);
  meter.record('snapshotRows', rows, labels);
}

/** `worktrack/<connection>/write-back/<resource>/<batch>`; the lock of a resource has an underscore instead of a batch. */
const BATCH_ID = /^worktrack\/([^/]+)\/write-back\/([^/]+)\/[^_]/;

/** The open batches of a connection, and when the oldest started. */
interface Open {
  readonly count: number;
  readonly since: EpochMs;
}

/**
 * Measures the running write-backs of each connection, and the age of the oldest.
 *
 * @param seen by connection; one without an open batch has no series until its first one
 * @param signal as of `measureFreshness`
 */
async function measureOpenBatches(
  { client, taskQueue, connections, meter }: GaugesOptions,
  seen: Map<string, Open>,
  signal: AbortSignal,
): Promise<void> {
  const workflows = client()?.workflow;
  if (workflows === undefined) return;
  const names = connections.settings.connections.map(({ name }) => name);
  const now = Date.now();
  for (const connection of seen.keys()) seen.set(connection, { count: 0, since: now });
  const query = `WorkflowType = '${WRITE_BACK_WORKFLOW}' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue.replaceAll("'", "\\'")}'`;
  for await (const { workflowId, startTime, memo } of workflows.list({ query })) {
    signal.throwIfAborted();
    const connection = BATCH_ID.exec(workflowId)?.[1];
    if (connection === undefined || !names.includes(connection)) continue;
    // The start time is that of the current history. A long batch continues as new, and keeps its memo.
    const startedAt = typeof memo?.startedAt === 'number' ? memo.startedAt : startTime.getTime();
    const { count, since } = seen.get(connection) ?? { count: 0, since: now };
    seen.set(connection, { count: count + 1, since: Math.min(since, startedAt) });
  }
  signal.throwIfAborted();
  for (const [connection, { count, since }] of seen) {
    const labels = { connection, resource: '' };
    meter.record('openBatches', count, labels);
    meter.record('openBatchAge', (Date.now() - since) / 1000, labels);
  }
}

/** An attempt that runs for so long without a failure counts as recovered, even if another worker has taken it over. */
const RECOVERED_MS = 10 * MINUTE_MS;

interface Labels {
  readonly connection: string;
  readonly resource: string;
}

interface Retrying extends Labels {
  readonly since: EpochMs;
  /** When the next attempt starts. */
  readonly nextAt: EpochMs;
}

/** The least time that an activity has been retried for when its nth attempt fails: the waits between the attempts. */
export function leastRetryingMs(attempt: number): Millis {
  let sum = 0;
  for (let n = 1; n < attempt; n++) {
    const wait = Math.min(RETRY.initialInterval * 2 ** (n - 1), RETRY.maximumInterval);
    if (wait === RETRY.maximumInterval) return sum + wait * (attempt - n);
    sum += wait;
  }
  return sum;
}

/**
 * Knows since when the steps of runs fail and are retried. A worker sees only its own attempts: if another worker saw the
 * first failure, the time follows from the number of attempts, and may be less than the real one.
 */
export class RetryWatch {
  readonly #retrying = new Map<string, Retrying>();

  constructor(
    private readonly meter: Meter,
    private readonly now: () => number = Date.now,
  ) {}

  /** Follows an attempt of a run's activity. */
  async watch<T>(
    { attempt, activityId }: { readonly attempt: number; readonly activityId: string },
    { connection, resource, runId }: Partial<Labels & { readonly runId: string }>,
    work: () => Promise<T>,
  ): Promise<T> {
    if (connection === undefined || resource === undefined || runId === undefined) return work();
    const step = `${runId}/${resource}/${activityId}`;
    try {
      const result = await work();
      this.ended(step, { connection, resource });
      return result;
    } catch (error) {
      if (isRetried(error)) {
        const { nextRetryDelay } = error;
        this.failed(
          step,
          { connection, resource },
          attempt,
          nextRetryDelay == null ? null : Number(nextRetryDelay),
        );
      } else this.ended(step, { connection, resource });
      throw error;
    }
  }

  /** Records that an attempt failed and will be retried. @param waitMs the wait that the failure asks for; `null`: the policy's */
  failed(step: string, labels: Labels, attempt: number, waitMs: number | null = null): void {
    const now = this.now();
    const known = this.#retrying.get(step);
    this.#retrying.set(step, {
      ...labels,
      since: known?.since ?? now - leastRetryingMs(attempt),
      nextAt: now + (waitMs ?? RETRY.maximumInterval),
    });
    this.measure(labels);
  }

  /** Records that a step ended, or failed for good. */
  ended(step: string, labels: Labels): void {
    if (this.#retrying.delete(step)) this.measure(labels);
  }

  /** Records the longest time that a step of a run of this resource has been retried for; 0 if none is. */
  measure({ connection, resource }: Labels): void {
    const now = this.now();
    let seconds = 0;
    for (const [step, one] of this.#retrying) {
      if (now > one.nextAt + RECOVERED_MS) this.#retrying.delete(step);
      else if (one.connection === connection && one.resource === resource)
        seconds = Math.max(seconds, (now - one.since) / 1000);
    }
    this.meter.record('retrying', seconds, { connection, resource });
  }
}

/** Whether Temporal starts another attempt. A cancelled attempt, for example of a worker that stops, is not a failure. */
function isRetried(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.nonRetryable !== true;
}
