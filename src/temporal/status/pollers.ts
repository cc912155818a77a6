import { MINUTE_MS } from '../../core/duration.js';
import { inParallel } from '../../core/in-parallel.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { configRecordId } from '../worker/published-config.js';

/** A worker that polls a task queue. */
export interface Poller {
  /** Its identity in Temporal, by default `<process id>@<host>`. */
  readonly identity: string;
  /** Its deployment version; `null`: it is not versioned. */
  readonly version: { readonly deploymentName: string; readonly buildId: string } | null;
  /** Whether the server gives it new runs: its version is the current or the ramping one. */
  readonly receivesRuns: boolean;
  /** The run of the workflow that holds its configuration; `null`: it publishes none. */
  readonly record: string | null;
}

/** A poll lasts at most a minute, so a worker that has not polled for two minutes has stopped. */
const WORKER_GONE_MS = 2 * MINUTE_MS;
const CONCURRENCY = 8;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY`. */
const TASK_TYPES = [1, 2];
/** `WORKFLOW_EXECUTION_STATUS_RUNNING`. */
const RUNNING = 1;
/** What the server calls all workers without a version. */
const UNVERSIONED = '__unversioned__';

/** The last poll of a worker. */
interface Poll {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly version: Poller['version'];
  readonly receivesRuns: boolean;
}

/**
 * The workers that poll a task queue. A worker that has stopped is left out immediately, because it withdrew its record; one
 * that was killed, two minutes after its last poll. Costs two requests, and one for each worker.
 *
 * @throws an SDK error if Temporal does not answer
 */
export async function readPollers(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
): Promise<readonly Poller[]> {
  const polls = await withDeadline(temporal, () => lastPolls(temporal, taskQueue), timeoutMs);
  const recent = [...polls].filter(([, { at }]) => Date.now() - at < WORKER_GONE_MS);
  const found = await inParallel(recent, CONCURRENCY, async ([identity, poll]) => {
    const read = () => readRecord(temporal, configRecordId(taskQueue, identity), poll.at);
    const record = await withDeadline(temporal, read, timeoutMs);
    const { version, receivesRuns } = poll;
    return record === 'withdrawn' ? [] : [{ identity, version, receivesRuns, record }];
  });
  return found.flat();
}

/**
 * Whether a worker polls the task queue and receives new runs.
 *
 * @throws an SDK error if Temporal does not answer
 */
export async function hasWorker(temporal: TemporalClient, taskQueue: string): Promise<boolean> {
  return (await readPollers(temporal, taskQueue)).some(({ receivesRuns }) => receivesRuns);
}

/** The last poll of each worker of the last five minutes, by identity. */
export async function lastPolls(
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
  for (const { identity, lastAccessTime, deploymentOptions } of answers.flatMap(
    ({ pollers }) => pollers ?? [],
  )) {
    const at = Number(lastAccessTime?.seconds ?? 0) * 1000 + (lastAccessTime?.nanos ?? 0) / 1e6;
    if (!identity || at < (found.get(identity)?.at ?? 0)) continue;
    const version = versionOf(deploymentOptions);
    found.set(identity, { at, version, receivesRuns: routed.includes(nameOf(version)) });
  }
  return found;
}

type Answer = Awaited<ReturnType<TemporalClient['client']['workflowService']['describeTaskQueue']>>;
type DeploymentOptions = NonNullable<Answer['pollers']>[number]['deploymentOptions'];

/** `WORKER_VERSIONING_MODE_VERSIONED`. */
const VERSIONED = 2;

function versionOf(options: DeploymentOptions): Poller['version'] {
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

/**
 * The record of a worker; `withdrawn`: the worker has stopped.
 *
 * @param polledAt the last poll, milliseconds since 1970. A poll after the withdrawal is that of another worker with the
 *   same identity, whose record is gone until it publishes again.
 */
async function readRecord(
  { client }: TemporalClient,
  workflowId: string,
  polledAt: number,
): Promise<string | 'withdrawn' | null> {
  try {
    const { status, runId, closeTime } = await client.workflow.getHandle(workflowId).describe();
    if (status.code === RUNNING) return runId;
    return status.name === 'TERMINATED' && polledAt <= (closeTime?.getTime() ?? 0) ? 'withdrawn' : null;
  } catch {
    // There is no record, or it cannot be read.
    return null;
  }
}
