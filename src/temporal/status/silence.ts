import type { WorkflowExecutionDescription } from '@temporalio/client';
import { type DeploymentVersion, isSameVersion } from '../../core/deployment-version.js';
import type { TemporalClient } from '../client/connect.js';
import { failureMessage, isUndecodable } from '../client/payloads.js';
import { notCurrent, type Poller, queuesWithWorkers, readPollers } from './workers.js';

/** Why no worker answers for a workflow. */
export type Silence =
  /** `others`: task queues of the namespace that workers poll. */
  | { readonly kind: 'no-worker'; readonly taskQueue: string; readonly others: readonly string[] }
  /** The workflow stays on its build, and no worker of this build polls. */
  | { readonly kind: 'no-build'; readonly workflowId: string; readonly version: DeploymentVersion }
  /** Workers poll, but their version is not the current one. */
  | { readonly kind: 'not-current'; readonly workers: readonly Poller[] }
  /** Workers take the workflow's tasks, and fail. */
  | { readonly kind: 'failing'; readonly workflowId: string; readonly error: string }
  /** Workers poll, but did not answer in time. */
  | { readonly kind: 'busy'; readonly workers: readonly Poller[] };

/**
 * Why no worker answers for a running workflow. Costs two requests, one for each worker, and one if its task fails; without workers,
 * up to ten more.
 *
 * @param known what was found before: other task queues are not looked for again
 * @throws an SDK error if Temporal does not answer
 * @example
 * const silence = await whySilent(temporal, await temporal.client.workflow.getHandle(workflowId).describe());
 * console.error(silenceText(silence).message);
 */
export async function whySilent(
  temporal: TemporalClient,
  described: WorkflowExecutionDescription,
  known: Silence | null = null,
): Promise<Silence> {
  const { workflowId, taskQueue } = described;
  const workers = await readPollers(temporal, taskQueue);
  const version = pinnedVersion(described);
  if (version !== null && !workers.some((one) => isSameVersion(one.version, version)))
    return { kind: 'no-build', workflowId, version };
  const idle = version === null ? await idleness(temporal, workers, taskQueue, known) : null;
  if (idle !== null) return idle;
  const error = await taskFailure(temporal, described);
  return error === null ? { kind: 'busy', workers } : { kind: 'failing', workflowId, error };
}

/**
 * Why no worker takes new runs of a task queue; `null` if one does.
 *
 * @throws an SDK error if Temporal does not answer
 */
export async function whyNoRuns(temporal: TemporalClient, taskQueue: string): Promise<Silence | null> {
  return idleness(temporal, await readPollers(temporal, taskQueue), taskQueue, null);
}

async function idleness(
  temporal: TemporalClient,
  workers: readonly Poller[],
  taskQueue: string,
  known: Silence | null,
): Promise<Silence | null> {
  if (workers.length === 0) {
    if (known?.kind === 'no-worker' && known.taskQueue === taskQueue) return known;
    return { kind: 'no-worker', taskQueue, others: await queuesWithWorkers(temporal, taskQueue) };
  }
  return workers.some(({ receivesRuns }) => receivesRuns) ? null : { kind: 'not-current', workers };
}

/** What to say about a silence, and what to do. The message is a sentence without its full stop. */
export function silenceText(silence: Silence): { readonly message: string; readonly remedy: string } {
  switch (silence.kind) {
    case 'no-worker': {
      const { taskQueue, others } = silence;
      return {
        message: `No worker polls task queue "${taskQueue}"`,
        remedy: `${otherQueuesText(others)}Start one in another terminal: \`worktrack worker${queueOption(taskQueue)}\`.`,
      };
    }
    case 'no-build': {
      const { deploymentName, buildId } = silence.version;
      return {
        message: `${silence.workflowId} waits for build ${buildId} of deployment ${deploymentName}, and no worker of this build polls`,
        remedy:
          'Start a worker of this build, or move what waits for lost builds to the current one: `worktrack unpin`.',
      };
    }
    case 'not-current': {
      const [first] = silence.workers.flatMap((worker) => notCurrent(worker) ?? []);
      return (
        first ?? { message: 'No worker receives new runs', remedy: 'Make the version of a worker current.' }
      );
    }
    case 'failing':
      return {
        message: `The workers take the tasks of ${silence.workflowId}, and fail: ${silence.error}`,
        remedy: isUndecodable(silence.error)
          ? 'Give all workers and commands the same --data-converter, with all keys that are in use; the work continues then. ' +
            `If a key is lost: temporal workflow terminate --workflow-id ${silence.workflowId}. The next export continues from the lake.`
          : 'Start the build that it ran on, or see the log of the workers.',
      };
    case 'busy':
      return {
        message: `The workers of the task queue poll, but do not answer: ${silence.workers.map(({ identity }) => identity).join(', ')}`,
        remedy: 'They may be busy. Otherwise see their log.',
      };
  }
}

/** Both as sentences. */
export function silenceSentences(silence: Silence): string {
  const { message, remedy } = silenceText(silence);
  return `${message}. ${remedy}`;
}

/** A sentence about the task queues that may be meant, and the space after it; empty without any. */
export function otherQueuesText(queues: readonly string[]): string {
  if (queues.length === 0) return '';
  const names = queues.map((queue) => `"${queue}"`).join(', ');
  return `Workers poll ${names}: if you mean them, add --task-queue ${queues.length === 1 ? queues[0] : 'NAME'}. `;
}

/** The option that names a task queue; empty for the default one. */
export function queueOption(taskQueue: string): string {
  return taskQueue === 'worktrack' ? '' : ` --task-queue ${taskQueue}`;
}

/** `VERSIONING_BEHAVIOR_PINNED`. */
const PINNED = 1;

/** The version that a workflow stays on; `null`: it moves to the current one. An override comes before the workflow's own. */
export function pinnedVersion({ raw }: WorkflowExecutionDescription): DeploymentVersion | null {
  const { behavior, deploymentVersion, versioningOverride } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  if (versioningOverride?.autoUpgrade === true) return null;
  const pinned = versioningOverride?.pinned?.version ?? (behavior === PINNED ? deploymentVersion : null);
  return pinned?.deploymentName && pinned.buildId
    ? { deploymentName: pinned.deploymentName, buildId: pinned.buildId }
    : null;
}

/** Recent events that are read: signals and cancellations may follow the failure of a task. */
const EVENTS_READ = 50;

/** Why the pending task of a workflow fails again and again; `null` if it does not. */
async function taskFailure(
  { client, namespace }: TemporalClient,
  { workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<string | null> {
  if ((raw.pendingWorkflowTask?.attempt ?? 1) < 2) return null;
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: EVENTS_READ,
  });
  for (const event of history?.events ?? []) {
    if (event.workflowTaskCompletedEventAttributes) return null;
    const failure = event.workflowTaskFailedEventAttributes?.failure;
    if (failure != null) return failureMessage(client, failure).catch(() => 'its failure cannot be decoded');
  }
  return null;
}
