import { CancellationScope, log } from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import type { MirrorState, OnPublishedTarget, PreparedRun } from '../../src/core/contract/index.js';
import { activity } from '../shared/activity.js';
import { failureDetail, toRunError } from '../shared/run-errors.js';
import type { Mirror } from './mirror-handle.js';

/**
 * Where the workflows of `onPublished` begin. A new mirror, or a newly configured workflow, begins after the run that the
 * current run is based. This is in the state before the run is published, so that the run gets its workflow even if its
 * result is lost.
 */
export function hookedToOf(
  { hookedTo }: Pick<MirrorState, 'hookedTo'>,
  { onPublished, base }: Pick<PreparedRun, 'onPublished' | 'base'>,
): MirrorState['hookedTo'] {
  return onPublished === null ? null : (hookedTo ?? base ?? 'beginning');
}

/**
 * Starts the user's workflow of `onPublished` for each run of the chain after the last one that it was started for. An
 * activity starts it, because a child workflow would put its result into the mirror's history. The start never fails the
 * run: the next published run starts the workflows that could not be started. The workflow id contains the run, and the
 * server rejects a second start, so each run has one workflow.
 *
 * @param target `null`: the configuration names no workflow
 * @param runId the run that was published
 * @returns warnings for the report
 */
export async function startOnPublished(
  target: OnPublishedTarget | null,
  runId: RunId,
  mirror: Mirror,
): Promise<readonly string[]> {
  const { connection, resource, hookedTo: after } = mirror.state;
  if (target === null) {
    if (after !== null) mirror.change({ hookedTo: null });
    return [];
  }
  const start = activity('worktrack.followOnPublished', connection, 'background', {
    summary: 'start the workflow of onPublished',
  });
  const input = { connection, resource, runId, ...target, after };
  try {
    const { hookedTo, warnings } = await CancellationScope.nonCancellable(() => start(input));
    mirror.change({ hookedTo });
    return warnings;
  } catch (error) {
    const { message } = toRunError(error);
    const { hookedTo } = failureDetail(error);
    if (hookedTo !== undefined) mirror.change({ hookedTo });
    log.warn('the run is published, but a workflow of onPublished was not started; the next run repeats it', {
      workflow: target.workflow,
      error: message,
    });
    const what = `workflow ${target.workflow} on task queue ${target.taskQueue} could not be started`;
    return [`onPublished: ${what}; the next published run starts it. ${message}`];
  }
}
