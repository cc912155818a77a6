import { selectResources } from '../../config/index.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { lastAudit } from '../../lake/documents/audit-statement.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { openConfirmations } from '../../temporal/follow/batch-confirmation.js';
import { nextScheduled } from '../../temporal/schedule/schedule.js';
import { readStatus } from '../../temporal/status/status.js';
import {
  notCurrent,
  queuesWithWorkers,
  readWorkers,
  workerDifferences,
} from '../../temporal/status/workers.js';
import { waitingWork } from '../../temporal/versions/stuck-work.js';
import { type OpenLake, withLake } from '../shared/open-lake.js';
import type { ConnectionStatus } from './status-lines.js';

/** How long the list of open confirmations may take, ms. */
const LIST_MS = 4_000;

/**
 * Reads the workers of the task queue once for all connections.
 *
 * @param temporal `null`: Temporal is unreachable
 * @param source the command's configuration file
 * @param connections the names of those whose status is read
 * @param maxAgeMs the largest age of data that is not stale
 * @param onUnknown called with each SDK error that leaves a run unknown
 * @returns reads the status of a connection; `timeoutMs`: how long its lake may be unreachable
 */
export async function openStatus(
  temporal: TemporalClient | null,
  source: string,
  connections: readonly string[],
  maxAgeMs: number,
  onUnknown: (error: unknown) => void,
  taskQueue: string = DEFAULT_TASK_QUEUE,
) {
  const workers = temporal === null ? null : await readWorkers(temporal, taskQueue).catch(() => null);
  const hasWorker = workers === null ? null : workers.some(({ receivesRuns }) => receivesRuns);
  const others =
    temporal !== null && workers?.length === 0 ? await queuesWithWorkers(temporal, taskQueue) : [];
  const worker = {
    taskQueue,
    hasWorker,
    others,
    idle: (workers ?? []).flatMap((one) => notCurrent(one) ?? []),
  };
  const unknown = (error: unknown): null => {
    onUnknown(error);
    return null;
  };
  const waitingOf =
    temporal === null ? null : await waitingWork(temporal, taskQueue, connections).catch(unknown);
  return async (
    connection: ConnectionSettings,
    wanted?: readonly string[],
    timeoutMs?: number,
  ): Promise<ConnectionStatus> => {
    const { name } = connection;
    const schedule = temporal === null ? null : await nextScheduled(temporal, name).catch(unknown);
    const options = {
      hasWorker,
      maxAgeMs,
      lastScheduled: schedule?.last ?? null,
      due: schedule?.due ?? null,
      onUnknown,
    };
    const shown = { ...connection, resources: selectResources(connection, wanted) };
    const read = async ({ store, retry }: OpenLake) => ({
      resources: await retry(() => readStatus(temporal, shown, store, options)),
      // It adds to the status, so what keeps it from being read is no problem of the status.
      audit: await lastAudit(store).catch(() => null),
    });
    const { resources, audit } = await withLake(connection, read, timeoutMs);
    const differences = workerDifferences(workers ?? [], [connection]);
    // A server that cannot list them has no other problem for it.
    const confirmations =
      temporal === null ? [] : await openConfirmations(temporal, name, LIST_MS).catch(() => []);
    const waiting = waitingOf?.get(name);
    return { name, resources, audit, schedule, worker, waiting, confirmations, differences, source };
  };
}
