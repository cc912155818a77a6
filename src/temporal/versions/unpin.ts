import { WorkflowNotFoundError } from '@temporalio/client';
import type { DeploymentVersion } from '../../core/deployment-version.js';
import { ConfigurationError } from '../../core/errors.js';
import { inParallel } from '../../core/in-parallel.js';
import { callOnce, type DataConverter, type RepeatCall, type TemporalClient } from '../client/connect.js';
import { isMissing } from '../client/grpc.js';
import { type RecordedHistory, replayHistories } from '../replay.js';
import { type Poller, routedVersion } from '../status/workers.js';
import { type StuckWork, stuckPages } from './stuck-work.js';

/** What became of a workflow that waits for a lost build. */
export interface Unpinned {
  readonly workflowId: string;
  /** The build that it stayed on, and that has no worker. */
  readonly from: DeploymentVersion;
  /** The current version; `null`: workers without a version are current. */
  readonly to: DeploymentVersion | null;
  /** `diverged`: this build cannot continue it, so nothing was changed. */
  readonly outcome: 'moved' | 'diverged';
  /** The difference; `null` unless diverged. */
  readonly error: string | null;
}

/**
 * Moves each workflow that waits for a build without workers to the current version, if its history replays with this
 * build. A workflow that does not replay is left as it is. Nothing is reset or terminated. Memory does not grow with
 * their number, but for the result.
 *
 * @param taskQueue of the workers
 * @param repeat repeats a call to the server that does not answer. Default: each call is made once
 * @throws ConfigurationError if no worker of the current version polls; an SDK error if Temporal does not answer
 * @example
 * for (const { workflowId, outcome } of await unpin(temporal, 'worktrack')) console.log(workflowId, outcome);
 */
export async function unpin(
  temporal: TemporalClient,
  taskQueue: string,
  dataConverter?: DataConverter,
  repeat: RepeatCall = callOnce,
): Promise<readonly Unpinned[]> {
  const ended: Unpinned[] = [];
  /** What is replayed now, by the name of its history. */
  const replayed = new Map<string, StuckWork & Pick<Unpinned, 'to'>>();
  async function* histories(): AsyncGenerator<RecordedHistory> {
    for await (const { stuck, workers } of stuckPages(temporal, taskQueue, undefined, repeat)) {
      if (stuck.length === 0) continue;
      const to = await repeat(() => currentOf(temporal, taskQueue, workers));
      for (let at = 0; at < stuck.length; at += AT_ONCE) {
        const next = stuck.slice(at, at + AT_ONCE);
        const recorded = await inParallel(next, AT_ONCE, (work) => repeat(() => readHistory(temporal, work)));
        replayed.clear();
        for (const work of next) replayed.set(work.workflowId, { ...work, to });
        yield* recorded.flat();
      }
    }
  }
  for await (const { name, error } of replayHistories(histories(), dataConverter && { dataConverter })) {
    const { workflowId, runId, silence, to } = replayed.get(name)!;
    const about = { workflowId, from: silence.version, to };
    if (error !== null) ended.push({ ...about, outcome: 'diverged', error });
    else if (await repeat(() => moveTo(temporal, { workflowId, runId }, to)))
      ended.push({ ...about, outcome: 'moved', error: null });
  }
  return ended;
}

/** The version to move to. @throws ConfigurationError if none of its workers polls */
async function currentOf(
  temporal: TemporalClient,
  taskQueue: string,
  workers: readonly Poller[],
): Promise<DeploymentVersion | null> {
  if (workers.some(({ receivesRuns }) => receivesRuns)) return routedVersion(temporal, taskQueue);
  throw new ConfigurationError(
    'No worker receives new runs, so there is no build to move the waiting runs to',
    {
      remedy:
        'Start a worker of the current build, or make the build of a running worker current: `worktrack upgrade BUILD`.',
    },
  );
}

/** Histories in memory at the same time. Each has at most a few MiB. */
const AT_ONCE = 8;

/** Empty if the workflow has ended and is no longer retained. */
async function readHistory(
  { client }: TemporalClient,
  { workflowId, runId }: StuckWork,
): Promise<RecordedHistory[]> {
  try {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    return [{ name: workflowId, history }];
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}

/** `PINNED_OVERRIDE_BEHAVIOR_PINNED`. */
const STAYS = 1;

/**
 * Pins a workflow to another version; `null`: it follows the current one from now on.
 *
 * @returns `false` if it has ended
 */
async function moveTo(
  { client, namespace }: TemporalClient,
  workflowExecution: Pick<StuckWork, 'workflowId' | 'runId'>,
  version: DeploymentVersion | null,
): Promise<boolean> {
  try {
    await client.workflowService.updateWorkflowExecutionOptions({
      namespace,
      workflowExecution,
      workflowExecutionOptions: {
        versioningOverride:
          version === null ? { autoUpgrade: true } : { pinned: { behavior: STAYS, version: { ...version } } },
      },
      updateMask: { paths: ['versioning_override'] },
    });
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
