import type { Payload } from '@temporalio/common';
import { type ConfigDifference, configDifference, configDigest } from '../../config/index.js';
import { MINUTE_MS } from '../../core/duration.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { decodePayload } from '../client/payloads.js';
import {
  type ConfigRecord,
  configRecordId,
  decodeRecord,
  type EncodedRecord,
} from '../worker/config-record.js';

/** A worker that polls the task queue. */
export interface PollingWorker {
  /** Its identity in Temporal, by default `<process id>@<host>`. */
  readonly identity: string;
  /** Its configuration; `null`: it publishes none, because it runs an earlier version. */
  readonly config: ConfigRecord | null;
}

/** A worker whose configuration of a connection differs from this one. */
export interface WorkerDifference {
  readonly connection: string;
  readonly worker: string;
  /** The worker's configuration file. */
  readonly source: string;
  readonly version: string;
  /** When the worker read the file, milliseconds since 1970. */
  readonly loadedAt: number;
  /** What differs; `null`: the worker does not have the connection. */
  readonly difference: ConfigDifference | null;
}

/** A poll lasts at most a minute, so a worker that has not polled for two minutes has stopped. */
const WORKER_GONE_MS = 2 * MINUTE_MS;
const CONCURRENCY = 8;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY`. */
const TASK_TYPES = [1, 2];
/** `WORKFLOW_EXECUTION_STATUS_RUNNING`. */
const RUNNING = 1;

/**
 * The workers that poll a task queue, with the configurations that they publish. Costs two requests, and two for each
 * worker.
 *
 * @throws an SDK error if Temporal does not answer
 * @example
 * const workers = await readWorkers(temporal, 'worktrack');
 * console.log(`${workers.length} workers poll`);
 */
export async function readWorkers(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
): Promise<readonly PollingWorker[]> {
  const polls = await withDeadline(temporal, () => lastPolls(temporal, taskQueue), timeoutMs);
  const recent = [...polls].filter(([, at]) => Date.now() - at < WORKER_GONE_MS);
  const found = await inParallel(recent, CONCURRENCY, async ([identity, polledAt]) => {
    const read = () => readRecord(temporal, taskQueue, identity, polledAt);
    const record = await withDeadline(temporal, read, timeoutMs);
    return record === 'stopped' ? [] : [{ identity, config: record }];
  });
  return found.flat();
}

async function lastPolls(
  { client, namespace }: TemporalClient,
  taskQueue: string,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const answers = await Promise.all(
    TASK_TYPES.map((taskQueueType) =>
      client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue }, taskQueueType }),
    ),
  );
  for (const { identity, lastAccessTime } of answers.flatMap(({ pollers }) => pollers ?? [])) {
    const at = Number(lastAccessTime?.seconds ?? 0) * 1000 + (lastAccessTime?.nanos ?? 0) / 1e6;
    if (identity) found.set(identity, Math.max(at, found.get(identity) ?? 0));
  }
  return found;
}

/**
 * The record of a worker; `stopped`: the worker withdrew it; `null`: there is none.
 *
 * @param polledAt the last poll, milliseconds since 1970. A poll after the withdrawal is that of another worker with the
 *   same identity, whose record is gone until it publishes again.
 */
async function readRecord(
  { client, namespace }: TemporalClient,
  taskQueue: string,
  identity: string,
  polledAt: number,
): Promise<ConfigRecord | 'stopped' | null> {
  const handle = client.workflow.getHandle(configRecordId(taskQueue, identity));
  try {
    const { status, runId, closeTime } = await handle.describe();
    if (status.code !== RUNNING) {
      const isWithdrawn = status.name === 'TERMINATED' && polledAt <= (closeTime?.getTime() ?? 0);
      return isWithdrawn ? 'stopped' : null;
    }
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId: handle.workflowId, runId },
      maximumPageSize: 1,
    });
    const [payload] = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return payload == null
      ? null
      : decodeRecord(await decodePayload<EncodedRecord>(client, payload as Payload));
  } catch {
    // There is no record, or it cannot be read.
    return null;
  }
}

/**
 * The workers whose configuration differs from that of the command. Workers that publish none are left out.
 *
 * @example
 * const found = workerDifferences(await readWorkers(temporal, 'worktrack'), settings.connections);
 */
export function workerDifferences(
  workers: readonly PollingWorker[],
  connections: readonly ConnectionSettings[],
): readonly WorkerDifference[] {
  const ours = connections.map((connection) => ({ name: connection.name, digest: configDigest(connection) }));
  return workers.flatMap(({ identity, config }) => {
    if (config === null) return [];
    const { source, version, loadedAt } = config;
    return ours.flatMap(({ name, digest }): WorkerDifference[] => {
      const theirs = config.connections[name];
      const found = { connection: name, worker: identity, source, version, loadedAt };
      if (theirs === undefined) return [{ ...found, difference: null }];
      const difference = configDifference(digest, theirs);
      return difference === null ? [] : [{ ...found, difference }];
    });
  });
}
