import type { Payload } from '@temporalio/common';
import { type ConfigDifference, configDifference, configDigest } from '../../config/index.js';
import type { EpochMs } from '../../core/brands.js';
import { upgradeCommand } from '../../core/deployment-version.js';
import { SECOND_MS } from '../../core/duration.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { decodePayload } from '../client/payloads.js';
import {
  CONFIG_RECORD_TYPE,
  type ConfigRecord,
  configRecordId,
  decodeRecord,
  type EncodedRecord,
} from '../worker/published-config.js';

/** A worker that polls the task queue. */
export interface PollingWorker {
  /** Its identity in Temporal, by default `<process id>@<host>`. */
  readonly identity: string;
  /** Its deployment version; `null`: it is not versioned. */
  readonly version: { readonly deploymentName: string; readonly buildId: string } | null;
  /** Whether the server gives it new runs: its version is the current or the ramping one. */
  readonly receivesRuns: boolean;
  /** Its configuration; `null`: it publishes none that can be read. */
  readonly config: ConfigRecord | null;
}

/** A worker whose configuration of a connection differs from this one. */
export interface WorkerDifference extends Pick<ConfigRecord, 'source' | 'version' | 'loadedAt'> {
  readonly connection: string;
  readonly worker: string;
  /** What differs; `null`: the worker does not have the connection. */
  readonly difference: ConfigDifference | null;
}

const CONCURRENCY = 8;

/**
 * The workers that poll a task queue, with the configurations that they publish. A worker that has stopped is not one of
 * them. Costs two requests, and one for each worker.
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
  const polls = await recentPolls(temporal, taskQueue, timeoutMs);
  const found = await inParallel(polls, CONCURRENCY, async ({ at, ...worker }) => {
    const read = () => readRecord(temporal, configRecordId(taskQueue, worker.identity), at);
    const config = await withDeadline(temporal, read, timeoutMs);
    return config === 'withdrawn' ? [] : [{ ...worker, config }];
  });
  return found.flat();
}

/** Events that end a workflow, but for a termination. */
const ENDED = /^workflowExecution(?:Completed|Failed|TimedOut|Canceled|ContinuedAsNew)EventAttributes$/;

/**
 * The record of a worker, from the few events of its workflow; `withdrawn`: the worker has stopped; `null`: there is no record, or it
 * cannot be read.
 *
 * @param polledAt the last poll. A poll after the withdrawal is that of another worker with the
 *   same identity, whose record is gone until it publishes again.
 */
async function readRecord(
  { client, namespace }: TemporalClient,
  workflowId: string,
  polledAt: EpochMs,
): Promise<ConfigRecord | 'withdrawn' | null> {
  try {
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId },
    });
    const [first, last] = [history?.events?.[0], history?.events?.at(-1)];
    if (last?.workflowExecutionTerminatedEventAttributes != null)
      return polledAt <= toEpochMs(last.eventTime) ? 'withdrawn' : null;
    const [payload] = first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    if (payload == null || Object.keys(last!).some((key) => ENDED.test(key))) return null;
    return decodeRecord(await decodePayload<EncodedRecord>(client, payload as Payload));
  } catch {
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
export function notCurrent({ identity, version, receivesRuns }: Poller) {
  if (receivesRuns) return null;
  if (version === null)
    return {
      message: `worker ${identity} has no deployment version, but another version is current, so it receives no new runs`,
      remedy: 'Start it with --deployment-name and --build-id, or stop it.',
    };
  const { deploymentName, buildId } = version;
  return {
    message: `worker ${identity} runs build ${buildId} of deployment ${deploymentName}, which is not the current version, so it receives no new runs`,
    remedy: `To make it current: ${upgradeCommand(version)}`,
  };
}

/** A poll lasts at most a minute, so a worker that has not polled for longer has stopped. The rest is for slow machines. */
const WORKER_GONE_MS = 75 * SECOND_MS;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY`. */
const TASK_TYPES = [1, 2];
/** What the server calls all workers without a version. */
const UNVERSIONED = '__unversioned__';

/** A worker that polls, without its configuration. */
export type Poller = Omit<PollingWorker, 'config'>;

/** The last poll of a worker. */
interface Poll extends Poller {
  readonly at: EpochMs;
}

/**
 * The workers that poll a task queue. A worker that has stopped is left out immediately, because it withdrew its record; one
 * that was killed, 75 s after its last poll. Costs two requests, and one for each worker.
 *
 * @throws an SDK error if Temporal does not answer
 */
export async function readPollers(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
): Promise<readonly Poller[]> {
  const polls = await recentPolls(temporal, taskQueue, timeoutMs);
  const found = await inParallel(polls, CONCURRENCY, async ({ at, ...worker }) => {
    const read = () => isWithdrawn(temporal, configRecordId(taskQueue, worker.identity), at);
    return (await withDeadline(temporal, read, timeoutMs)) ? [] : [worker];
  });
  return found.flat();
}

/** As `readRecord`, but without the record, which can be large. */
async function isWithdrawn(
  { client }: TemporalClient,
  workflowId: string,
  polledAt: EpochMs,
): Promise<boolean> {
  try {
    const { status, closeTime } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'TERMINATED' && polledAt <= (closeTime?.getTime() ?? 0);
  } catch {
    // There is no record, or it cannot be read.
    return false;
  }
}

async function recentPolls(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
): Promise<readonly Poll[]> {
  const polls = await withDeadline(temporal, () => lastPolls(temporal, taskQueue), timeoutMs);
  return [...polls.values()].filter(({ at }) => Date.now() - at < WORKER_GONE_MS);
}

/**
 * The version that receives new runs of a task queue; `null`: workers without a version do.
 *
 * @throws an SDK error if Temporal does not answer
 */
export async function routedVersion(
  temporal: TemporalClient,
  taskQueue: string,
): Promise<PollingWorker['version']> {
  const { client, namespace } = temporal;
  const { versioningInfo } = await withDeadline(temporal, () =>
    client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: TASK_TYPES[0]!,
    }),
  );
  const { deploymentName, buildId } = versioningInfo?.currentDeploymentVersion ?? {};
  return deploymentName && buildId ? { deploymentName, buildId } : null;
}

/** Records of workers that are looked at. */
const MAX_RECORDS = 20;
/** A message names no more task queues. */
const MAX_QUEUES = 3;

/**
 * Other task queues of the namespace that workers of this package poll, by the records that these publish, the newest first. Costs a
 * list, and the pollers of three task queues. Only a hint: empty if the server does not answer or does not let the user list workflows.
 */
export async function queuesWithWorkers(
  temporal: TemporalClient,
  except: string,
): Promise<readonly string[]> {
  const { client, namespace } = temporal;
  const query = `WorkflowType = '${CONFIG_RECORD_TYPE}' AND ExecutionStatus = 'Running'`;
  try {
    const { executions } = await withDeadline(temporal, () =>
      client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: MAX_RECORDS }),
    );
    const queues = new Set((executions ?? []).flatMap(({ taskQueue }) => taskQueue || []));
    queues.delete(except);
    // A worker that was killed leaves its record.
    const polled = await inParallel([...queues].slice(0, MAX_QUEUES), CONCURRENCY, async (queue) =>
      (await readPollers(temporal, queue)).length > 0 ? [queue] : [],
    );
    return polled.flat();
  } catch {
    return [];
  }
}

/** The last poll of each worker of the last five minutes, by identity. */
async function lastPolls(
  { client, namespace }: TemporalClient,
  taskQueue: string,
): Promise<ReadonlyMap<string, Poll>> {
  const found = new Map<string, Poll>();
  const answers = await Promise.all(
    TASK_TYPES.map((taskQueueType) =>
      client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue }, taskQueueType }),
    ),
  );
  const routed = routedVersions(answers[0]!.versioningInfo);
  const pollers = answers.flatMap((answer) => answer.pollers ?? []);
  for (const { identity, lastAccessTime, deploymentOptions } of pollers) {
    const at = toEpochMs(lastAccessTime);
    if (!identity || at < (found.get(identity)?.at ?? 0)) continue;
    const version = versionOf(deploymentOptions);
    found.set(identity, { identity, at, version, receivesRuns: routed.includes(nameOf(version)) });
  }
  return found;
}

type Timestamp = NonNullable<Answer['pollers']>[number]['lastAccessTime'];

/** 1970 without a time. */
function toEpochMs(time: Timestamp): EpochMs {
  return Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
}

type Answer = Awaited<ReturnType<TemporalClient['client']['workflowService']['describeTaskQueue']>>;
type DeploymentOptions = NonNullable<Answer['pollers']>[number]['deploymentOptions'];

/** `WORKER_VERSIONING_MODE_VERSIONED`. */
const VERSIONED = 2;

function versionOf(options: DeploymentOptions): PollingWorker['version'] {
  if (options == null || options.workerVersioningMode !== VERSIONED) return null;
  const { deploymentName = '', buildId = '' } = options;
  return { deploymentName: deploymentName ?? '', buildId: buildId ?? '' };
}

/** The versions that the server sends new runs to. */
function routedVersions(info: Answer['versioningInfo']): readonly string[] {
  const { currentDeploymentVersion, currentVersion, rampingDeploymentVersion, rampingVersionPercentage } =
    info ?? {};
  // Servers before 1.28 know only the joined name.
  const current = currentDeploymentVersion ? nameOf(currentDeploymentVersion) : currentVersion || UNVERSIONED;
  return (rampingVersionPercentage ?? 0) > 0 ? [current, nameOf(rampingDeploymentVersion)] : [current];
}

function nameOf(
  version: { readonly deploymentName?: string | null; readonly buildId?: string | null } | null | undefined,
): string {
  return version == null ? UNVERSIONED : `${version.deploymentName}.${version.buildId}`;
}
