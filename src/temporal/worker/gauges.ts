import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { RETRY } from '../../core/contract/activity-table.js';
import { WRITE_BACK_WORKFLOW } from '../../core/contract/write-back.js';
import { ageOfData } from '../../core/data-age.js';
import { MINUTE_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import type { Meter } from '../../core/metrics.js';
import type { Settings } from '../../core/settings.js';
import { readPointer } from '../../lake/documents/pointer.js';
import { fromUtcSeconds } from '../../lake/run/watermark.js';
import type { Connections } from './connections.js';
import { runAttributes } from './interceptors.js';

interface FreshnessOptions {
  readonly connections: Connections;
  readonly meter: Meter;
  /** Called for each resource with each measurement. */
  readonly onResource?: (labels: { readonly connection: string; readonly resource: string }) => void;
  /** Called at the end of each measurement. An error is reported like an unreadable pointer. */
  readonly onRound?: () => Promise<void>;
  /** Called when a resource's pointer becomes unreadable, and not again until it was readable. */
  readonly onError: (message: string) => void;
  /** Interval between two measurements. Default: a minute. */
  readonly everyMs?: number;
}

/**
 * Measures the age of each resource's data by its `latest.json`, so that the age grows while nothing is published, no
 * matter which worker published last. Each measurement reads one small object per resource.
 */
export function watchFreshness(options: FreshnessOptions): { stop(): Promise<void> } {
  const failing = new Set<string>();
  let stopped = false;
  let isReading = false;
  let reading = Promise.resolve();
  const read = (): void => {
    // A round over many connections can take longer than the interval.
    if (isReading) return;
    isReading = true;
    reading = (async () => {
      for (const { name: connection, resources } of options.connections.settings.connections) {
        for (const { name: resource } of resources) {
          if (stopped) return;
          options.onResource?.({ connection, resource });
          await measure(options, { connection, resource }, failing);
        }
      }
      await measureRound(options, failing);
    })().finally(() => {
      isReading = false;
    });
  };
  read();
  const timer = setInterval(read, options.everyMs ?? MINUTE_MS);
  timer.unref();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await reading;
    },
  };
}

async function measure(
  { connections, meter, onError }: FreshnessOptions,
  labels: { readonly connection: string; readonly resource: string },
  failing: Set<string>,
): Promise<void> {
  const { connection, resource } = labels;
  const id = `${connection}/${resource}`;
  try {
    // The connection must stay open during the read, even if the configuration changes.
    const pointer = await connections.during('freshness', null, () =>
      readPointer(connections.connection(connection).store, resource),
    );
    failing.delete(id);
    meter.record('neverPublished', pointer === null ? 1 : 0, labels);
    if (pointer === null) return;
    const { checkpoint, rows } = pointer;
    const age = ageOfData(fromUtcSeconds(checkpoint.updatedSince), connections.now());
    meter.record('freshness', age / 1000, labels);
    meter.record('snapshotRows', rows, labels);
  } catch (error) {
    if (failing.has(id)) return;
    failing.add(id);
    onError(`cannot measure the freshness of ${id}: ${errorMessage(error)}`);
  }
}

async function measureRound({ onRound, onError }: FreshnessOptions, failing: Set<string>): Promise<void> {
  const id = 'open write-backs';
  try {
    await onRound?.();
    failing.delete(id);
  } catch (error) {
    if (failing.has(id)) return;
    failing.add(id);
    onError(`cannot count the ${id}: ${errorMessage(error)}`);
  }
}

/** `worktrack/<connection>/write-back/<resource>/<batch>`; the lock of a resource has an underscore instead of a batch. */
const BATCH_ID = /^worktrack\/([^/]+)\/write-back\/([^/]+)\/[^_]/;

interface Open {
  count: number;
  /** Milliseconds since 1970. */
  since: number;
}

interface OpenBatchesOptions {
  /** The worker's client, whose connection can be exchanged. */
  readonly client: () => Pick<Client, 'workflow'>;
  readonly taskQueue: string;
  /** The current configuration. */
  readonly settings: () => Settings;
  readonly meter: Meter;
}

/**
 * Measures the running write-backs of each connection, and the age of the oldest. Each measurement is one list request to
 * Temporal. A connection without an open batch has no series until its first one.
 */
export class OpenBatches {
  readonly #options: OpenBatchesOptions;
  readonly #seen = new Map<string, Open>();

  constructor(options: OpenBatchesOptions) {
    this.#options = options;
  }

  /** @throws the error of Temporal's client */
  async measure(): Promise<void> {
    const { client, taskQueue, settings, meter } = this.#options;
    const names = settings().connections.map(({ name }) => name);
    for (const open of this.#seen.values()) Object.assign(open, { count: 0, since: Date.now() });
    const query = `WorkflowType = '${WRITE_BACK_WORKFLOW}' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue.replaceAll("'", "\\'")}'`;
    for await (const { workflowId, startTime, memo } of client().workflow.list({ query })) {
      const connection = BATCH_ID.exec(workflowId)?.[1];
      if (connection === undefined || !names.includes(connection)) continue;
      // The start time is that of the current history. A long batch continues as new, and keeps its memo.
      const startedAt = typeof memo?.startedAt === 'number' ? memo.startedAt : startTime.getTime();
      this.#add(connection, startedAt);
    }
    for (const [connection, { count, since }] of this.#seen) {
      const labels = { connection, resource: '' };
      meter.record('openBatches', count, labels);
      meter.record('openBatchAge', (Date.now() - since) / 1000, labels);
    }
  }

  #add(connection: string, startedAt: number): void {
    const open = this.#seen.get(connection) ?? { count: 0, since: startedAt };
    open.count++;
    open.since = open.count === 1 ? startedAt : Math.min(open.since, startedAt);
    this.#seen.set(connection, open);
  }
}

/** An attempt that runs for so long without a failure counts as recovered, even if another worker has taken it over. */
const RECOVERED_MS = 10 * MINUTE_MS;

interface Retrying {
  readonly connection: string;
  readonly resource: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** When the next attempt starts. */
  readonly nextAt: number;
}

interface Labels {
  readonly connection: string;
  readonly resource: string;
}

/** The least time that an activity has been retried for when its nth attempt fails: the waits between the attempts; ms. */
export function leastRetryingMs(attempt: number): number {
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
  readonly #meter: Meter;
  readonly #now: () => number;

  constructor(meter: Meter, now: () => number = Date.now) {
    this.#meter = meter;
    this.#now = now;
  }

  /** Follows the attempts of a run's activities. */
  readonly interceptor: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        const { connection, resource, runId } = runAttributes(info, input.args) as Partial<
          Labels & { runId: string }
        >;
        if (connection === undefined || resource === undefined || runId === undefined) return next(input);
        const step = `${runId}/${resource}/${info.activityId}`;
        try {
          const result = await next(input);
          this.ended(step, { connection, resource });
          return result;
        } catch (error) {
          if (isRetried(error)) this.failed(step, { connection, resource }, info.attempt, waitOf(error));
          else this.ended(step, { connection, resource });
          throw error;
        }
      },
    },
  });

  /** Records that an attempt failed and will be retried. @param waitMs the wait that the failure asks for; `null`: the policy's */
  failed(step: string, labels: Labels, attempt: number, waitMs: number | null = null): void {
    const now = this.#now();
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
    const now = this.#now();
    let seconds = 0;
    for (const [step, one] of this.#retrying) {
      if (now > one.nextAt + RECOVERED_MS) this.#retrying.delete(step);
      else if (one.connection === connection && one.resource === resource)
        seconds = Math.max(seconds, (now - one.since) / 1000);
    }
    this.#meter.record('retrying', seconds, { connection, resource });
  }
}

/** Whether Temporal starts another attempt. A cancelled attempt, for example of a worker that stops, is not a failure. */
function isRetried(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.nonRetryable !== true;
}

function waitOf(error: unknown): number | null {
  const { nextRetryDelay } = error as ApplicationFailure;
  return nextRetryDelay === undefined || nextRetryDelay === null ? null : Number(nextRetryDelay);
}
