import type { Payload } from '@temporalio/common';
import { type ConfigDifference, configDifference, configDigest } from '../../config/index.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { decodePayload } from '../client/payloads.js';
import {
  type ConfigRecord,
  configRecordId,
  decodeRecord,
  type EncodedRecord,
} from '../worker/published-config.js';
import { type Poller, readPollers } from './pollers.js';

/** A worker that polls the task queue. */
export interface PollingWorker extends Omit<Poller, 'record'> {
  /** Its configuration; `null`: it publishes none that can be read. */
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

const CONCURRENCY = 8;

/**
 * The workers that poll a task queue, with the configurations that they publish. A worker that has stopped is not one of
 * them. Costs two requests, and two for each worker.
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
  const pollers = await readPollers(temporal, taskQueue, timeoutMs);
  return inParallel(pollers, CONCURRENCY, async ({ record, ...poller }) => {
    const workflowId = configRecordId(taskQueue, poller.identity);
    const read = () => readConfig(temporal, workflowId, record);
    return { ...poller, config: await withDeadline(temporal, read, timeoutMs) };
  });
}

async function readConfig(
  { client, namespace }: TemporalClient,
  workflowId: string,
  runId: string | null,
): Promise<ConfigRecord | null> {
  if (runId === null) return null;
  try {
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    });
    const [payload] = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return payload == null
      ? null
      : decodeRecord(await decodePayload<EncodedRecord>(client, payload as Payload));
  } catch {
    // The record was replaced meanwhile, or it cannot be read.
    return null;
  }
}

/**
 * The workers whose configuration differs from that of the command. Workers that publish none, and those that receive no
 * new runs, are left out.
 *
 * @example
 * const found = workerDifferences(await readWorkers(temporal, 'worktrack'), settings.connections);
 */
export function workerDifferences(
  workers: readonly PollingWorker[],
  connections: readonly ConnectionSettings[],
): readonly WorkerDifference[] {
  const ours = connections.map((connection) => ({ name: connection.name, digest: configDigest(connection) }));
  return workers.flatMap(({ identity, config, receivesRuns }) => {
    if (config === null || !receivesRuns) return [];
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

/** Why a worker receives no new runs, and what to do; `null` if it receives them. */
export function notCurrent({
  identity,
  version,
  receivesRuns,
}: PollingWorker): { readonly message: string; readonly remedy: string } | null {
  if (receivesRuns) return null;
  if (version === null) {
    return {
      message: `worker ${identity} has no deployment version, but another version is current, so it receives no new runs`,
      remedy: 'Start it with --deployment-name and --build-id, or stop it.',
    };
  }
  const { deploymentName, buildId } = version;
  return {
    message: `worker ${identity} runs build ${buildId} of deployment ${deploymentName}, which is not the current version, so it receives no new runs`,
    remedy: `To make it current: temporal worker deployment set-current-version --deployment-name ${deploymentName} --build-id ${buildId}`,
  };
}
