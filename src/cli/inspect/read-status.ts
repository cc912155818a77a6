import { selectResources } from '../../config/index.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { nextScheduled } from '../../temporal/schedule/schedule.js';
import { readStatus } from '../../temporal/status/status.js';
import {
  notCurrent,
  type PollingWorker,
  readWorkers,
  workerDifferences,
} from '../../temporal/status/workers.js';
import { withLake } from '../shared/open-lake.js';
import type { ConnectionStatus } from './status-lines.js';

/** What is the same for all connections of one command. */
export interface StatusSource {
  /** `null`: Temporal is unreachable. */
  readonly temporal: TemporalClient | null;
  readonly taskQueue: string;
  /** `null`: not known. */
  readonly workers: readonly PollingWorker[] | null;
  /** The command's configuration file. */
  readonly source: string;
}

/** Reads the workers of the task queue once for all connections. */
export async function openStatus(
  temporal: TemporalClient | null,
  source: string,
  taskQueue: string = DEFAULT_TASK_QUEUE,
): Promise<StatusSource> {
  const workers = temporal === null ? null : await readWorkers(temporal, taskQueue).catch(() => null);
  return { temporal, taskQueue, workers, source };
}

interface ConnectionStatusOptions {
  /** Only these resources; default: all. */
  readonly resource?: readonly string[] | undefined;
  /** How long the lake may be unreachable. */
  readonly timeoutMs?: number | undefined;
  /** The largest age of data that is not stale. */
  readonly maxAgeMs: number;
}

/** Reads the status of one connection. */
export async function readConnectionStatus(
  { temporal, taskQueue, workers, source }: StatusSource,
  connection: ConnectionSettings,
  { resource, timeoutMs, maxAgeMs }: ConnectionStatusOptions,
): Promise<ConnectionStatus> {
  const schedule = temporal === null ? null : await nextScheduled(temporal, connection.name);
  const hasWorker = workers === null ? null : workers.some(({ receivesRuns }) => receivesRuns);
  const options = { hasWorker, maxAgeMs, lastScheduled: schedule?.last ?? null };
  const shown = { ...connection, resources: selectResources(connection, resource) };
  const resources = await withLake(
    connection,
    ({ store, retry }) => retry(() => readStatus(temporal, shown, store, options)),
    timeoutMs,
  );
  const differences = workerDifferences(workers ?? [], [connection]);
  const worker = { taskQueue, hasWorker, idle: (workers ?? []).flatMap((one) => notCurrent(one) ?? []) };
  return { name: connection.name, resources, schedule, worker, differences, source };
}
