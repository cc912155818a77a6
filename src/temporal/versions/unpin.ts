import type { DeploymentVersion } from '../../core/deployment-version.js';
import { ConfigurationError } from '../../core/errors.js';
import type { DataConverter, TemporalClient } from '../client/connect.js';
import { replayHistories } from '../replay.js';
import { readPollers, routedVersion } from '../status/workers.js';
import { type StuckWork, stuckWork } from './stuck-work.js';

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
 * build. A workflow that does not replay is left as it is. Nothing is reset or terminated.
 *
 * @param taskQueue of the workers
 * @throws ConfigurationError if no worker of the current version polls; an SDK error if Temporal does not answer
 * @example
 * for (const { workflowId, outcome } of await unpin(temporal, 'worktrack')) console.log(workflowId, outcome);
 */
export async function unpin(
  temporal: TemporalClient,
  taskQueue: string,
  dataConverter?: DataConverter,
): Promise<readonly Unpinned[]> {
  const waiting = await stuckWork(temporal, taskQueue);
  if (waiting.length === 0) return [];
  const to = await routedVersion(temporal, taskQueue);
  const workers = await readPollers(temporal, taskQueue);
  if (!workers.some(({ receivesRuns }) => receivesRuns))
    throw new ConfigurationError(
      'No worker receives new runs, so there is no build to move the waiting runs to',
      {
        remedy:
          'Start a worker of the current build, or make the build of a running worker current: `worktrack upgrade BUILD`.',
      },
    );
  const ended: Unpinned[] = [];
  for (const work of waiting) {
    const about = { workflowId: work.workflowId, from: work.silence.version, to };
    const error = await divergence(temporal, work, dataConverter);
    if (error === null) await moveTo(temporal, work, to);
    ended.push({ ...about, outcome: error === null ? 'moved' : 'diverged', error });
  }
  return ended;
}

async function divergence(
  { client }: TemporalClient,
  { workflowId, described }: StuckWork,
  dataConverter: DataConverter | undefined,
): Promise<string | null> {
  const history = await client.workflow.getHandle(workflowId, described.runId).fetchHistory();
  const recorded = [{ name: workflowId, history }];
  for await (const { error } of replayHistories(recorded, dataConverter && { dataConverter })) return error;
  return null;
}

/** `PINNED_OVERRIDE_BEHAVIOR_PINNED`. */
const STAYS = 1;

/** Pins a workflow to another version; `null`: it follows the current one from now on. */
async function moveTo(
  { client, namespace }: TemporalClient,
  { workflowId, described }: StuckWork,
  version: DeploymentVersion | null,
): Promise<void> {
  await client.workflowService.updateWorkflowExecutionOptions({
    namespace,
    workflowExecution: { workflowId, runId: described.runId },
    workflowExecutionOptions: {
      versioningOverride:
        version === null ? { autoUpgrade: true } : { pinned: { behavior: STAYS, version: { ...version } } },
    },
    updateMask: { paths: ['versioning_override'] },
  });
}
